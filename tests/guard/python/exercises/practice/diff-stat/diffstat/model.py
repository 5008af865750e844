"""What is known about a diff."""

from dataclasses import dataclass


class DiffError(Exception):
    pass


@dataclass
class FileStat:
    name: str
    added: int = 0
    removed: int = 0

    @property
    def changes(self):
        return self.added + self.removed
