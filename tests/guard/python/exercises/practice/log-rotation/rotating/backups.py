"""Finds the backups of a log."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Backup:
    path: Path
    number: int


def backup_path(path, number):
    return path.with_name(f"{path.name}.{number}")


def backups(path):
    """The backups of the log, newest first."""
    path = Path(path)
    found = []
    for candidate in sorted(path.parent.glob(path.name + ".*")):
        suffix = candidate.name[len(path.name) + 1 :]
        if suffix.isdigit():
            found.append(Backup(candidate, int(suffix)))
    return found
