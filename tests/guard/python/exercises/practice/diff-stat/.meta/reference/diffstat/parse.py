"""Reads a unified diff."""

import re

from .model import DiffError, FileStat

HUNK = re.compile(r"@@ -[0-9]+(?:,([0-9]+))? \+[0-9]+(?:,([0-9]+))? @@.*")
NOWHERE = "/dev/null"


def parse(text):
    """One entry for each file, in the order of the diff."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text):
        # Not splitlines: a form feed, or another character of that kind, is part of a line.
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.at = 0
        self.stats = []
        self.current = None
        self.renamed_from = None
        self.old = None

    def read(self):
        while self.at < len(self.lines):
            line = self.lines[self.at]
            hunk = HUNK.fullmatch(line)
            if hunk and self.current is not None:
                self._hunk(_number(hunk[1]), _number(hunk[2]))
                continue
            self.at += 1
            if line.startswith("diff "):
                self.current = self.renamed_from = self.old = None
            elif line.startswith("rename from "):
                self.renamed_from = line[len("rename from ") :]
            elif line.startswith("rename to ") and self.renamed_from is not None:
                self._add(f"{self.renamed_from} => {line[len('rename to ') :]}")
            elif line.startswith("--- "):
                self.old = line[4:]
            elif line.startswith("+++ ") and self.old is not None:
                self._header(line[4:])
        return self.stats

    def _header(self, new):
        old, self.old = self.old, None
        if self.renamed_from is not None:
            # The rename lines have named the file already.
            self.renamed_from = None
            return
        chosen = _name(old, "a/") if _name(new, "b/") == NOWHERE else _name(new, "b/")
        self.current = FileStat(chosen)

    def _add(self, name):
        self.current = FileStat(name)
        self.stats.append(self.current)

    def _hunk(self, old, new):
        header = self.at + 1
        if not self.stats or self.stats[-1] is not self.current:
            self.stats.append(self.current)
        self.at += 1
        while old > 0 or new > 0:
            line = self.lines[self.at] if self.at < len(self.lines) else None
            mark = line[:1] if line else " " if line == "" else None
            if mark == "\\":
                self.at += 1
                continue
            if mark == "-" and old > 0:
                self.current.removed += 1
                old -= 1
            elif mark == "+" and new > 0:
                self.current.added += 1
                new -= 1
            elif mark == " " and old > 0 and new > 0:
                old -= 1
                new -= 1
            else:
                raise DiffError(f"line {header}: hunk of {self.current.name!r} is incomplete")
            self.at += 1


def _number(count):
    return 1 if count is None else int(count)


def _name(header, prefix):
    name = header.partition("\t")[0]
    return name[len(prefix) :] if name.startswith(prefix) else name
