"""Reads the entries of a ledger from CSV."""

import csv
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation


@dataclass(frozen=True)
class Entry:
    day: date
    category: str
    amount: Decimal


class LedgerError(Exception):
    pass


def read(stream):
    """The entries of an open CSV file, in file order."""
    rows = csv.DictReader(stream)
    missing = {"date", "category", "amount"} - set(rows.fieldnames or ())
    if missing:
        raise LedgerError(f"no column {sorted(missing)[0]!r}")
    entries = []
    for row in rows:
        try:
            day = date.fromisoformat(row["date"])
        except (TypeError, ValueError):
            raise LedgerError(f"line {rows.line_num}: bad date {row['date']!r}") from None
        try:
            amount = Decimal(row["amount"])
        except (TypeError, InvalidOperation):
            raise LedgerError(f"line {rows.line_num}: bad amount {row['amount']!r}") from None
        entries.append(Entry(day, row["category"].strip(), amount))
    return entries
