"""Ranges of versions, such as `>=1.2 <2 || ^3.1`."""

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
COMPARATOR = re.compile(r"(>=|<=|>|<|=|~|\^|)([0-9].*)")
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
    """Matches a version if all comparators of at least one side hold. Missing parts of a version count as 0."""

    def __init__(self, text):
        self.text = text
        if not text.strip():
            raise RangeError("empty range")
        self.sides = [_side(side, text) for side in text.split("||")]

    def matches(self, version):
        return any(_allows(side, version) for side in self.sides)

    def __repr__(self):
        return f"Range({self.text!r})"


def _side(text, whole):
    comparators = [comparator for part in text.split() for comparator in _comparators(part)]
    if not comparators:
        raise RangeError(f"empty side in {whole!r}")
    return comparators


def _allows(side, version):
    if not all(comparator.holds(version) for comparator in side):
        return False
    # The upper ends of ~ and ^ have no pre-release, so they never let one in.
    return not version.pre or any(
        comparator.version.pre and comparator.version.core == version.core for comparator in side
    )


def _comparators(text):
    match = COMPARATOR.fullmatch(text)
    if match is None:
        raise RangeError(f"bad comparator {text!r}")
    sign = match[1]
    version, given = _version(match[2], text)
    if sign not in ("~", "^"):
        return [Comparator(OPERATORS[sign], version)]
    if sign == "~":
        fixed = min(given, 2)
    else:
        fixed = next((place for place, part in enumerate(version.core, 1) if part), given)
    end = version.core[: fixed - 1] + (version.core[fixed - 1] + 1,) + (0,) * (3 - fixed)
    return [Comparator(operator.ge, version), Comparator(operator.lt, Version(*end))]


def _version(text, comparator):
    """The version, and how many of its three parts are given."""
    partial = PARTIAL.fullmatch(text)
    if partial:
        return Version(int(partial[1]), int(partial[2] or 0), 0), 1 if partial[2] is None else 2
    try:
        return Version.parse(text), 3
    except VersionError:
        raise RangeError(f"bad comparator {comparator!r}") from None
