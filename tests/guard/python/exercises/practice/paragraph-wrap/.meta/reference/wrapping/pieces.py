"""Splits text into the pieces that must not be broken."""

import re
from dataclasses import dataclass

LETTER = r"[^\W\d_]"
BREAK = re.compile(f"(?<={LETTER}-)(?={LETTER})")
SPACE = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Piece:
    """A word, or a part of one. `glued` is set if nothing comes between it and the piece before it."""

    text: str
    glued: bool


def pieces(text):
    found = []
    for word in SPACE.split(text.strip(" \t")):
        if word:
            found.extend(Piece(part, number > 0) for number, part in enumerate(BREAK.split(word)))
    return found
