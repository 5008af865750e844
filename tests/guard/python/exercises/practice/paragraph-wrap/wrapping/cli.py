"""Wraps the text on the standard input."""

import sys

from .reflow import reflow


def main(arguments):
    if len(arguments) != 1 or not arguments[0].isdigit() or int(arguments[0]) < 1:
        print("usage: wrapping.cli WIDTH", file=sys.stderr)
        return 2
    sys.stdout.write(reflow(sys.stdin.read(), int(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
