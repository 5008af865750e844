"""Splits text into the pieces that must not be broken."""

import re
from dataclasses import dataclass

BREAK = re.compile(r"(?<=-)")


@dataclass(frozen=True)
class Piece:
    """A word, or a part of one. `glued` is set if nothing comes between it and the piece before it."""

    text: str
    glued: bool


def pieces(text):
    found = []
    for word in text.split():
        parts = [part for part in BREAK.split(word) if part]
        found.extend(Piece(part, number > 0) for number, part in enumerate(parts))
    return found
