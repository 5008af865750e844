"""Versions, ranges of them, and the choice of the best one."""

from .ranges import Range, RangeError
from .resolver import best
from .version import Version, VersionError

__all__ = ["Range", "RangeError", "Version", "VersionError", "best"]
