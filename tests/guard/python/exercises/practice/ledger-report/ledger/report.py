"""Groups the entries of a ledger and totals them."""

from dataclasses import dataclass
from decimal import Decimal

NO_CATEGORY = "(none)"


@dataclass(frozen=True)
class Row:
    label: str
    total: Decimal


def by_category(entries):
    """One row for each category. Categories that differ only in case are one; the first spelling is shown."""
    labels = {}
    totals = {}
    for entry in entries:
        key = entry.category.lower()
        labels.setdefault(key, entry.category)
        totals[key] = totals.get(key, Decimal(0)) + entry.amount
    ordered = sorted(totals, key=lambda key: (key == "", key))
    return [Row(labels[key] or NO_CATEGORY, totals[key]) for key in ordered]


def grand_total(entries):
    return sum((entry.amount for entry in entries), Decimal(0))
