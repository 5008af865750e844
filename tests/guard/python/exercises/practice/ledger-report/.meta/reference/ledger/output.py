"""Writes a report for people and for spreadsheets."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
FORMULA = ("=", "+", "-", "@")


def money(amount):
    return str(amount.quantize(CENT, rounding=ROUND_HALF_UP))


def as_text(columns, rows, total):
    """The report as a table. Labels are on the left, amounts are lined up on the right."""
    table = [row.labels + (money(row.total),) for row in rows]
    table.append(_total(columns, total))
    widths = [max(len(line[column]) for line in table) for column in range(len(columns) + 1)]
    text = []
    for line in table:
        labels = [f"{label:<{width}}" for label, width in zip(line[:-1], widths)]
        text.append("  ".join(labels + [f"{line[-1]:>{widths[-1]}}"]) + "\n")
    return "".join(text)


def as_csv(columns, rows, total):
    """The report as CSV with a header."""
    lines = [columns + ("total",)]
    for row in rows:
        lines.append(tuple(_harmless(label) for label in row.labels) + (money(row.total),))
    lines.append(_total(columns, total))
    return "".join(",".join(_quoted(cell) for cell in line) + "\n" for line in lines)


def _total(columns, total):
    return ("total",) + ("",) * (len(columns) - 1) + (money(total),)


def _harmless(label):
    return "'" + label if label.startswith(FORMULA) else label


def _quoted(cell):
    if any(mark in cell for mark in ',"\n\r'):
        return '"' + cell.replace('"', '""') + '"'
    return cell
