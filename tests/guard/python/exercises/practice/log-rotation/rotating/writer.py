"""Writes records to a log and rotates it when it is full."""

from pathlib import Path

from .rotate import rotate


class LogWriter:
    """Appends one line for each record to a UTF-8 file of at most `limit` bytes."""

    def __init__(self, path, limit, keep=5):
        if limit < 1:
            raise ValueError("the limit must be at least 1")
        self.path = Path(path)
        self.limit = limit
        self.keep = keep
        self._stream = None
        self._size = 0

    def write(self, record):
        """Appends a record. A line break inside it is written as `\\n`, so that a record is always one line."""
        line = record.replace("\n", "\\n") + "\n"
        if self._size + len(line) >= self.limit:
            self._rotate()
        if self._stream is None:
            self._open()
        self._stream.write(line)
        self._stream.flush()
        self._size += len(line)

    def close(self):
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _open(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = self.path.open("a", encoding="utf-8", newline="")

    def _rotate(self):
        self.close()
        rotate(self.path, self.keep)
        self._size = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
