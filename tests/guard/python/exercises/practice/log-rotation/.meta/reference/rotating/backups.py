"""Finds the backups of a log."""

import re
from dataclasses import dataclass
from pathlib import Path

NUMBER = re.compile(r"[1-9][0-9]*")


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
    if not path.parent.is_dir():
        return found
    # No glob: the name of the log may hold characters that are special in a pattern.
    for candidate in path.parent.iterdir():
        name, _, suffix = candidate.name.rpartition(".")
        if name == path.name and NUMBER.fullmatch(suffix) and candidate.is_file():
            found.append(Backup(candidate, int(suffix)))
    return sorted(found, key=lambda backup: backup.number)
