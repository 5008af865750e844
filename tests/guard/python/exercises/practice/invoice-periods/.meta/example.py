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
        for number in count(1):
            yield self._period(number)

    def period_for(self, day):
        """The period that contains `day`."""
        if day < self.start:
            raise ValueError(f"{self.customer} had no subscription on {day.isoformat()}")
        number = months_between(self.start, day) // self.plan.months + 1
        if day < self._start_of(number):
            number -= 1
        return self._period(number)

    def _start_of(self, number):
        # Every start is counted from the first one: a short month must not move the periods after it.
        return add_months(self.start, (number - 1) * self.plan.months)

    def _period(self, number):
        return Period(number, self._start_of(number), self._start_of(number + 1) - ONE_DAY)

    def refund(self, day):
        """What the customer gets back, in cents, if `day` is the last day of use. Halves are rounded up."""
        period = self.period_for(day)
        unused = (period.end - day).days
        return (2 * self.plan.cents * unused + period.days) // (2 * period.days)
