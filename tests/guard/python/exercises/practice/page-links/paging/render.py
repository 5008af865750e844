"""The navigation as text."""

from .links import window


def summary(page):
    """Which results are on the page."""
    if page.total == 0:
        return "No results"
    if page.first == page.last:
        return f"Result {page.first} of {page.total}"
    return f"Results {page.first}–{page.last} of {page.total}"


def navigation(page, around=2):
    """One line such as `1 … 4 [5] 6 … 9`."""
    shown = []
    for number in window(page, around):
        if number is None:
            shown.append("…")
        elif number == page.number:
            shown.append(f"[{number}]")
        else:
            shown.append(str(number))
    return " ".join(shown)
