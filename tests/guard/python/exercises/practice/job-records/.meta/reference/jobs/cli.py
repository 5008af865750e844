"""Shows and changes a queue file."""

import json
import sys

from .store import StoreError, load, save

USAGE = "usage: jobs FILE list | add NAME [PAYLOAD [PRIORITY]] | cancel ID"


def describe(job):
    """One line about a job."""
    line = f"#{job.id} {job.name} {json.dumps(job.payload)}"
    if job.priority:
        line += f" priority {job.priority}"
    if job.attempts:
        line += f" attempts {job.attempts}"
    return line


def main(arguments, out=sys.stdout, err=sys.stderr):
    if len(arguments) < 2:
        print(USAGE, file=err)
        return 2
    path, command, rest = arguments[0], arguments[1], arguments[2:]
    try:
        queue = load(path)
    except StoreError as error:
        print(error, file=err)
        return 1
    if command == "list" and not rest:
        for job in queue.jobs():
            print(describe(job), file=out)
        return 0
    if command == "add" and 1 <= len(rest) <= 3:
        payload = json.loads(rest[1]) if len(rest) > 1 else None
        job = queue.add(rest[0], payload, int(rest[2]) if len(rest) > 2 else 0)
        print(describe(job), file=out)
    elif command == "cancel" and len(rest) == 1 and rest[0].isdigit():
        if not queue.cancel(int(rest[0])):
            print(f"no job {rest[0]}", file=err)
            return 1
    else:
        print(USAGE, file=err)
        return 2
    save(queue, path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
