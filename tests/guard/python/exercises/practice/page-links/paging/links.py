"""Which pages are linked, and how."""

from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit


def window(page, around=2):
    """The page numbers to show, with None for a gap."""
    start = max(page.number - around, 1)
    end = min(page.number + around, page.count)
    shown = list(range(start, end + 1))
    if start > 1:
        shown[:0] = [1, None]
    if end < page.count:
        shown += [None, page.count]
    return shown


def url_for(url, number):
    """The address of another page."""
    parts = urlsplit(url)
    parameters = parse_qs(parts.query)
    parameters["page"] = [str(number)]
    return urlunsplit(parts._replace(query=urlencode(parameters, doseq=True)))


def link_header(page, url):
    """The value of the Link header, or an empty text if there is nothing to link to."""
    relations = [
        ("first", 1),
        ("prev", page.number - 1),
        ("next", page.number + 1),
        ("last", page.count),
    ]
    links = [f'<{url_for(url, number)}>; rel="{name}"' for name, number in relations if number != page.number]
    return ", ".join(links)
