"""What sizes and durations have in common."""

DIGITS = "0123456789"


def skip_space(text, at):
    """The first place from `at` on that is no white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at
