"""Durations in seconds, such as `90s` or `1h30m`."""

from .errors import QuantityError
from .grammar import read

UNITS = {
    "d": 86400,
    "h": 3600,
    "m": 60,
    "s": 1,
}


def parse_duration(text):
    """The number of seconds."""
    total = 0
    previous = None
    for number, unit, column in read("duration", text, UNITS):
        seconds = UNITS[unit or "s"]
        if previous is not None and seconds >= previous:
            raise QuantityError("duration", text, f"unit {unit!r} out of order", column)
        previous = seconds
        total += number * seconds
    return float(total)
