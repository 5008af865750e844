"""Which pages are linked, and how."""

from urllib.parse import unquote_plus, urlsplit, urlunsplit


def window(page, around=2):
    """The page numbers to show, with None for a gap."""
    numbers = {1, page.count}
    numbers.update(range(max(page.number - around, 1), min(page.number + around, page.count) + 1))
    shown = []
    previous = 0
    for number in sorted(numbers):
        hidden = number - previous - 1
        if hidden == 1:
            shown.append(number - 1)
        elif hidden > 1:
            shown.append(None)
        shown.append(number)
        previous = number
    return shown


def url_for(url, number):
    """The address of another page. Everything but the page is copied without decoding it, so that it stays as it is."""
    parts = urlsplit(url)
    parameters = []
    placed = False
    for parameter in parts.query.split("&") if parts.query else []:
        if unquote_plus(parameter.partition("=")[0]) != "page":
            parameters.append(parameter)
        elif not placed:
            parameters.append(f"page={number}")
            placed = True
    if not placed:
        parameters.append(f"page={number}")
    return urlunsplit(parts._replace(query="&".join(parameters)))


def link_header(page, url):
    """The value of the Link header, or an empty text if there is nothing to link to."""
    relations = []
    if page.number > 1:
        relations += [("first", 1), ("prev", page.number - 1)]
    if page.number < page.count:
        relations += [("next", page.number + 1), ("last", page.count)]
    return ", ".join(f'<{url_for(url, number)}>; rel="{name}"' for name, number in relations)
