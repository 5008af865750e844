"""Log files that are rotated by size."""

from .backups import Backup, backups
from .rotate import rotate
from .writer import LogWriter

__all__ = ["Backup", "LogWriter", "backups", "rotate"]
