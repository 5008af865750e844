"""Chooses among the versions that are on offer."""

from .ranges import Range
from .version import Version, VersionError


def matching(versions, range_text):
    """The version texts that match, in their order."""
    wanted = Range(range_text)
    return [text for text in versions if wanted.matches(Version.parse(text))]


def best(versions, range_text):
    """The highest version text that matches, or None. Texts that are no versions are skipped."""
    found = matching(filter(_is_version, versions), range_text)
    # The first of equal versions is kept by max.
    return max(found, key=Version.parse, default=None)


def _is_version(text):
    try:
        Version.parse(text)
    except VersionError:
        return False
    return True
