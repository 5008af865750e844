"""Prints the coming periods of a subscription."""

import sys
from datetime import date
from itertools import islice

from .plans import PLANS
from .subscription import Subscription


def money(cents):
    return f"{cents // 100}.{cents % 100:02d}"


def lines(subscription, how_many):
    """One line for each of the first periods."""
    for period in islice(subscription.periods(), how_many):
        span = f"{period.start.isoformat()} to {period.end.isoformat()}"
        yield f"{period.number:>3}  {span}  {period.days:>3} days  {money(subscription.plan.cents)}"


def main(arguments):
    if len(arguments) != 3 or arguments[0] not in PLANS:
        print(f"usage: statement {'|'.join(PLANS)} START PERIODS", file=sys.stderr)
        return 2
    plan, start, how_many = arguments
    subscription = Subscription("customer", PLANS[plan], date.fromisoformat(start))
    for line in lines(subscription, int(how_many)):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
