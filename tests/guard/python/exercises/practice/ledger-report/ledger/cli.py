"""The command line of the ledger report."""

import argparse
import sys

from .output import as_text
from .reader import LedgerError, read
from .report import by_category, grand_total


def parser():
    options = argparse.ArgumentParser(prog="ledger", description="Totals the entries of a ledger.")
    options.add_argument("file", help="the CSV file with the entries")
    return options


def main(arguments, out=sys.stdout, err=sys.stderr):
    options = parser().parse_args(arguments)
    try:
        with open(options.file, newline="", encoding="utf-8") as stream:
            entries = read(stream)
    except (OSError, LedgerError) as error:
        print(f"ledger: {error}", file=err)
        return 1
    out.write(as_text(by_category(entries), grand_total(entries)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
