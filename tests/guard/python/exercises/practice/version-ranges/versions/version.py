"""A version: major.minor.patch, with an optional pre-release (`-rc.1`) and an optional build (`+5`)."""

import re
from dataclasses import dataclass
from functools import total_ordering

NUMBER = r"(0|[1-9][0-9]*)"
LABELS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
PATTERN = re.compile(rf"{NUMBER}\.{NUMBER}\.{NUMBER}(?:-({LABELS}))?(?:\+({LABELS}))?")


class VersionError(ValueError):
    pass


@total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    """Versions are compared without their build part."""

    major: int
    minor: int
    patch: int
    pre: tuple = ()
    build: str = ""

    @classmethod
    def parse(cls, text):
        match = PATTERN.fullmatch(text)
        if match is None:
            raise VersionError(f"bad version {text!r}")
        major, minor, patch, pre, build = match.groups()
        return cls(int(major), int(minor), int(patch), tuple(pre.split(".")) if pre else (), build or "")

    @property
    def core(self):
        return (self.major, self.minor, self.patch)

    def _key(self):
        # Numeric labels come before words and are compared as numbers. No pre-release comes after any.
        labels = tuple((0, int(label), "") if label.isdigit() else (1, 0, label) for label in self.pre)
        return (self.core, not self.pre, labels)

    def __eq__(self, other):
        return isinstance(other, Version) and self._key() == other._key()

    def __lt__(self, other):
        return self._key() < other._key()

    def __hash__(self):
        return hash(self._key())

    def __str__(self):
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre:
            text += "-" + ".".join(self.pre)
        return f"{text}+{self.build}" if self.build else text
