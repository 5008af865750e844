"""Durations in seconds, such as `90s` or `1h30m`."""

from .errors import QuantityError
from .grammar import DIGITS

UNITS = {
    "d": 86400,
    "h": 3600,
    "m": 60,
    "s": 1,
}


def parse_duration(text):
    """The number of seconds."""
    total = 0
    number = ""
    previous = None
    for character in text:
        if character in DIGITS:
            number += character
        elif character in UNITS and number:
            if previous is not None and UNITS[character] >= previous:
                raise QuantityError("duration", text, f"unit {character!r} out of order")
            previous = UNITS[character]
            total += int(number) * previous
            number = ""
        else:
            raise QuantityError("duration", text, f"unexpected {character!r}")
    if number and previous is None:
        return float(number)
    if number or previous is None:
        raise QuantityError("duration", text, "expected a number and a unit")
    return float(total)
