"""Reads a unified diff."""

from .model import FileStat


def parse(text):
    """One entry for each file, in the order of the diff."""
    stats = []
    for line in text.splitlines():
        if line.startswith("+++ "):
            stats.append(FileStat(line[4:]))
        elif line.startswith("--- "):
            continue
        elif line.startswith("+") and stats:
            stats[-1].added += 1
        elif line.startswith("-") and stats:
            stats[-1].removed += 1
    return stats
