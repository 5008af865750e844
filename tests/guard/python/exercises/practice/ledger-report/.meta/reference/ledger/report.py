"""Groups the entries of a ledger and totals them."""

from dataclasses import dataclass
from decimal import Decimal

NO_CATEGORY = "(none)"
SUBTOTAL = "subtotal"
GROUPINGS = {
    "category": ("category",),
    "month": ("month",),
    "category,month": ("category", "month"),
}


@dataclass(frozen=True)
class Row:
    labels: tuple
    total: Decimal


def rows_by(grouping, entries):
    """The rows for one of `GROUPINGS`."""
    if grouping == "month":
        return by_month(entries)
    rows = []
    for label, members in _categories(entries):
        if grouping == "category,month":
            rows.extend(Row((label,) + row.labels, row.total) for row in by_month(members))
            rows.append(Row((label, SUBTOTAL), grand_total(members)))
        else:
            rows.append(Row((label,), grand_total(members)))
    return rows


def by_month(entries):
    totals = {}
    for entry in entries:
        month = entry.day.isoformat()[:7]
        totals[month] = totals.get(month, Decimal(0)) + entry.amount
    return [Row((month,), totals[month]) for month in sorted(totals)]


def _categories(entries):
    """Each category and its entries. Categories that differ only in case are one; the first spelling is shown."""
    members = {}
    for entry in entries:
        members.setdefault(entry.category.lower(), []).append(entry)
    for key in sorted(members, key=lambda key: (key == "", key)):
        yield members[key][0].category or NO_CATEGORY, members[key]


def grand_total(entries):
    return sum((entry.amount for entry in entries), Decimal(0))
