"""Keeps a queue in a JSON file."""

import json
from pathlib import Path

from .queue import Queue


class StoreError(Exception):
    pass


def load(path):
    """The queue in the file. A file that does not exist is an empty queue."""
    path = Path(path)
    if not path.exists():
        return Queue()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise StoreError(f"{path}: {error}") from error
    return Queue(data["jobs"], data["next_id"])


def save(queue, path):
    data = {"next_id": queue.next_id, "jobs": queue.jobs()}
    Path(path).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
