"""Sizes in bytes, such as `64k` or `10 MB`."""

import re

from .errors import QuantityError

UNITS = {
    "b": 1,
    "k": 1024,
    "kb": 1024,
    "m": 1024**2,
    "mb": 1024**2,
    "g": 1024**3,
    "gb": 1024**3,
}
SIZE = re.compile(r"([0-9]+) *([a-z]*)")


def parse_size(text):
    """The number of bytes."""
    match = SIZE.fullmatch(text.strip().lower())
    if match is None:
        raise QuantityError("size", text, "expected a number and a unit")
    number, unit = match.groups()
    if unit and unit not in UNITS:
        raise QuantityError("size", text, f"unknown unit {unit!r}")
    return int(number) * UNITS[unit or "b"]
