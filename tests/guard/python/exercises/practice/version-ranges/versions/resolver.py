"""Chooses among the versions that are on offer."""

from .ranges import Range
from .version import Version


def matching(versions, range_text):
    """The version texts that match, in their order."""
    wanted = Range(range_text)
    return [text for text in versions if wanted.matches(Version.parse(text))]


def best(versions, range_text):
    """The last version text that matches, or None."""
    found = matching(versions, range_text)
    return found[-1] if found else None
