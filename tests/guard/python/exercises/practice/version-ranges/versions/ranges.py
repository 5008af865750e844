"""Ranges of versions, such as `>=1.2 <2`."""

import operator
import re
from dataclasses import dataclass
from typing import Callable

from .version import NUMBER, Version, VersionError

OPERATORS = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    "": operator.eq,
}
COMPARATOR = re.compile(r"(>=|<=|>|<|=|)([0-9].*)")
PARTIAL = re.compile(rf"{NUMBER}(?:\.{NUMBER})?")


class RangeError(ValueError):
    pass


@dataclass(frozen=True)
class Comparator:
    compare: Callable
    version: Version

    def holds(self, version):
        return self.compare(version, self.version)


class Range:
    """Matches the versions for which all comparators hold. Missing parts of a version in a range count as 0."""

    def __init__(self, text):
        self.text = text
        self.comparators = [_comparator(part) for part in text.split()]
        if not self.comparators:
            raise RangeError("empty range")

    def matches(self, version):
        return all(comparator.holds(version) for comparator in self.comparators)

    def __repr__(self):
        return f"Range({self.text!r})"


def _comparator(text):
    match = COMPARATOR.fullmatch(text)
    if match is None:
        raise RangeError(f"bad comparator {text!r}")
    return Comparator(OPERATORS[match[1]], _version(match[2], text))


def _version(text, comparator):
    partial = PARTIAL.fullmatch(text)
    if partial:
        return Version(int(partial[1]), int(partial[2] or 0), 0)
    try:
        return Version.parse(text)
    except VersionError:
        raise RangeError(f"bad comparator {comparator!r}") from None
