"""Writes a report for people."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def money(amount):
    return str(amount.quantize(CENT, rounding=ROUND_HALF_UP))


def as_text(rows, total):
    """The report as a table. Labels are on the left, amounts are lined up on the right."""
    table = [(row.label, money(row.total)) for row in rows]
    table.append(("total", money(total)))
    left = max(len(label) for label, _ in table)
    right = max(len(amount) for _, amount in table)
    return "".join(f"{label:<{left}}  {amount:>{right}}\n" for label, amount in table)
