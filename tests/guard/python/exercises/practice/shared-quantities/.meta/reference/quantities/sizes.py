"""Sizes in bytes, such as `64k` or `10 MB`."""

from .errors import QuantityError
from .grammar import read

UNITS = {
    "b": 1,
    "k": 1024,
    "kb": 1024,
    "m": 1024**2,
    "mb": 1024**2,
    "g": 1024**3,
    "gb": 1024**3,
}


def parse_size(text):
    """The number of bytes."""
    parts = read("size", text, UNITS)
    number, unit, column = next(parts)
    for _, _, further in parts:
        raise QuantityError("size", text, "more than one part", further)
    size = number * UNITS[unit or "b"]
    if size.denominator != 1:
        raise QuantityError("size", text, "not a whole number of bytes", column)
    return int(size)
