"""Reads records back, across the backups."""

from pathlib import Path

from .backups import backups


def records(path):
    """All records of the log and its backups, oldest first."""
    path = Path(path)
    files = [backup.path for backup in reversed(backups(path))]
    if path.exists():
        files.append(path)
    for file in files:
        with file.open(encoding="utf-8", newline="") as stream:
            for line in stream:
                yield line.rstrip("\n").replace("\\n", "\n")


def tail(path, count):
    """The last `count` records, oldest first."""
    return list(records(path))[-count:] if count > 0 else []
