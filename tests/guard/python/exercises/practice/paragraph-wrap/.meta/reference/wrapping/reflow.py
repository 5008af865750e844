"""Puts the blocks of a text into lines."""

from .blocks import split
from .pieces import pieces


def reflow(text, width):
    """The text with no line longer than `width`, as far as that is possible."""
    if width < 1:
        raise ValueError("the width must be at least 1")
    lines = []
    for block in split(text):
        if block.kind == "blank":
            lines.append("")
        elif block.kind == "code":
            lines.extend(block.lines)
        else:
            lines.extend(fill(block, width))
    return "".join(line + "\n" for line in lines)


def fill(block, width):
    """The lines of a paragraph or an item."""
    lines = []
    line = block.first
    empty = True
    for piece in pieces(" ".join(block.lines)):
        gap = "" if piece.glued or empty else " "
        # A piece that is too long for any line still has to go somewhere, so an empty line takes it.
        if empty or len(line) + len(gap) + len(piece.text) <= width:
            line += gap + piece.text
        else:
            lines.append(line)
            line = block.rest + piece.text
        empty = False
    lines.append(line.rstrip(" "))
    return lines
