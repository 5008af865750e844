"""Date arithmetic on whole days. There are no times of day and no time zones here."""

import calendar
from datetime import date


def days_in_month(year, month):
    return calendar.monthrange(year, month)[1]


def add_months(start, months):
    """The same day `months` later, or the last day of that month if the month is shorter."""
    year, index = divmod(start.year * 12 + start.month - 1 + months, 12)
    month = index + 1
    return date(year, month, min(start.day, days_in_month(year, month)))


def months_between(first, second):
    """How many month boundaries lie between two days. Negative if the second is in an earlier month."""
    return (second.year - first.year) * 12 + second.month - first.month
