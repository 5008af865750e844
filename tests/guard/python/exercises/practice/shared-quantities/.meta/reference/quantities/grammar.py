"""What sizes and durations have in common."""

import re
from fractions import Fraction

from .errors import QuantityError

DIGITS = "0123456789"
NUMBER = re.compile(r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?")


def read(kind, text, units):
    """Yields number, unit and column of each part. It goes no further than asked, so that the first mistake counts."""
    at = skip_space(text, 0)
    first = True
    while first or at < len(text):
        start = at
        at = _run(text, start, lambda character: character in DIGITS + "._")
        digits = text[start:at]
        column = start + 1
        if not digits:
            raise QuantityError(kind, text, "expected a number", column)
        if not NUMBER.fullmatch(digits):
            raise QuantityError(kind, text, f"bad number {digits!r}", column)
        unit_at = skip_space(text, at)
        at = _run(text, unit_at, str.isalpha)
        name = text[unit_at:at]
        unit = _find(name, units)
        at = skip_space(text, at)
        if name and unit is None:
            raise QuantityError(kind, text, f"unknown unit {name!r}", unit_at + 1)
        if not name and (not first or at < len(text)):
            raise QuantityError(kind, text, "expected a unit", column)
        first = False
        yield Fraction(digits.replace("_", "")), unit, column


def skip_space(text, at):
    """The first place from `at` on that is no white space."""
    return _run(text, at, str.isspace)


def _run(text, at, belongs):
    """The first place from `at` on with a character that does not belong."""
    while at < len(text) and belongs(text[at]):
        at += 1
    return at


def _find(name, units):
    if name in units:
        return name
    return next((unit for unit in units if unit.lower() == name.lower()), None)
