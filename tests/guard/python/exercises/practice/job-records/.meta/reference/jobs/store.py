"""Keeps a queue in a JSON file."""

import json
from pathlib import Path

from .job import Job
from .queue import Queue

VERSION = 2


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
    version = data.get("version", 1)
    if version not in (1, VERSION):
        raise StoreError(f"{path}: version {version} is not supported")
    read = Job.from_parts if version == 1 else Job.from_data
    jobs = []
    for number, part in enumerate(data["jobs"], 1):
        try:
            jobs.append(read(part))
        except ValueError as error:
            raise StoreError(f"{path}: job {number}: {error}") from None
    highest = max((job.id for job in jobs), default=0)
    return Queue(jobs, max(data.get("next_id", 1), highest + 1))


def save(queue, path):
    data = {
        "version": VERSION,
        "next_id": queue.next_id,
        "jobs": [job.to_data() for job in queue.jobs()],
    }
    Path(path).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
