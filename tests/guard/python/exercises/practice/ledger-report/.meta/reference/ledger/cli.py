"""The command line of the ledger report."""

import argparse
import sys

from .output import as_csv, as_text
from .reader import LedgerError, read
from .report import GROUPINGS, grand_total, rows_by

FORMATS = {"text": as_text, "csv": as_csv}


def parser():
    options = argparse.ArgumentParser(prog="ledger", description="Totals the entries of a ledger.")
    options.add_argument("file", help="the CSV file with the entries")
    options.add_argument("--by", default="category", help="category (the default), month, or category,month")
    options.add_argument("--format", default="text", choices=FORMATS, help="text (the default) or csv")
    return options


def main(arguments, out=sys.stdout, err=sys.stderr):
    options = parser().parse_args(arguments)
    if options.by not in GROUPINGS:
        print(f"ledger: cannot group by {options.by!r}", file=err)
        return 2
    try:
        with open(options.file, newline="", encoding="utf-8") as stream:
            entries = read(stream)
    except (OSError, LedgerError) as error:
        print(f"ledger: {error}", file=err)
        return 1
    write = FORMATS[options.format]
    out.write(write(GROUPINGS[options.by], rows_by(options.by, entries), grand_total(entries)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
