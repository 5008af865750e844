"""Turns a log into a backup."""

from pathlib import Path

from .backups import backup_path, backups


def rotate(path, keep):
    """Makes the log the newest backup, and keeps at most `keep` backups. Returns how many files were removed."""
    if keep < 0:
        raise ValueError("cannot keep fewer than no backups")
    path = Path(path)
    if not path.exists():
        return 0
    taken = {backup.number for backup in backups(path)}
    gap = next(number for number in range(1, len(taken) + 2) if number not in taken)
    for number in range(gap - 1, 0, -1):
        backup_path(path, number).rename(backup_path(path, number + 1))
    path.rename(backup_path(path, 1))
    surplus = [backup for backup in backups(path) if backup.number > keep]
    for backup in surplus:
        backup.path.unlink()
    return len(surplus)
