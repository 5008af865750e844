"""Turns a log into a backup."""

from pathlib import Path

from .backups import backup_path, backups


def rotate(path, keep):
    """Makes the log the newest backup, and keeps at most `keep` backups. Returns how many files were removed."""
    if keep < 0:
        raise ValueError("cannot keep fewer than no backups")
    path = Path(path)
    removed = 0
    for backup in reversed(backups(path)):
        if backup.number >= keep:
            backup.path.unlink()
            removed += 1
        else:
            backup.path.rename(backup_path(path, backup.number + 1))
    if path.exists():
        path.rename(backup_path(path, 1))
    return removed
