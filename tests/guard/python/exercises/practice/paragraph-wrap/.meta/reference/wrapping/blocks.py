"""Splits a text into blocks."""

import re
from dataclasses import dataclass, field

ITEM = re.compile(r"( *(?:[-*]|[0-9]+\.) +)(.*)")
CODE = "    "


@dataclass
class Block:
    """Lines that belong together. The first line begins with `first`, the others with `rest`."""

    kind: str
    first: str = ""
    rest: str = ""
    lines: list = field(default_factory=list)


def split(text):
    """The blocks of a text: "paragraph", "item", "code", and "blank" for each blank line."""
    blocks = []
    for line in text.splitlines():
        last = blocks[-1] if blocks else None
        item = ITEM.fullmatch(line)
        if not line.strip():
            blocks.append(Block("blank", lines=[""]))
        elif line.startswith(CODE) and (last is None or last.kind in ("blank", "code")):
            if last is None or last.kind == "blank":
                blocks.append(Block("code"))
            blocks[-1].lines.append(line)
        elif item:
            blocks.append(Block("item", item[1], " " * len(item[1]), [item[2]]))
        elif last is not None and last.kind in ("paragraph", "item"):
            last.lines.append(line)
        else:
            blocks.append(Block("paragraph", lines=[line]))
    return blocks
