"""A customer's subscription and the periods it is billed for."""

from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count

from .calendar_math import add_months, months_between
from .plans import Plan

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """One billing period. Both `start` and `end` belong to it."""

    number: int
    start: date
    end: date

    @property
    def days(self):
        return (self.end - self.start).days + 1

    def __contains__(self, day):
        return self.start <= day <= self.end


@dataclass(frozen=True)
class Subscription:
    customer: str
    plan: Plan
    start: date

    def periods(self):
        """All periods from the first one on. The iterator does not end."""
        begin = self.start
        for number in count(1):
            following = add_months(begin, self.plan.months)
            yield Period(number, begin, following - ONE_DAY)
            begin = following

    def period_for(self, day):
        """The period that contains `day`."""
        if day < self.start:
            raise ValueError(f"{self.customer} had no subscription on {day.isoformat()}")
        elapsed = months_between(self.start, day)
        if day.day < self.start.day:
            elapsed -= 1
        passed = elapsed // self.plan.months
        begin = add_months(self.start, passed * self.plan.months)
        following = add_months(begin, self.plan.months)
        return Period(passed + 1, begin, following - ONE_DAY)

    def refund(self, day):
        """What the customer gets back, in cents, if `day` is the last day of use. Halves are rounded up."""
        period = self.period_for(day)
        unused = (period.end - day).days
        return (2 * self.plan.cents * unused + period.days) // (2 * period.days)
