"""Reads a diff from the standard input and prints its statistics."""

import argparse
import sys

from .model import DiffError
from .parse import parse
from .render import render


def main(arguments):
    options = argparse.ArgumentParser(prog="diffstat")
    options.add_argument("--width", type=int, default=40, help="of the longest bar")
    chosen = options.parse_args(arguments)
    try:
        stats = parse(sys.stdin.read())
    except DiffError as error:
        print(f"diffstat: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(render(stats, chosen.width))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
