import unittest
from datetime import date, timedelta
from itertools import islice

from billing import PLANS, Period, Plan, Subscription
from billing.statement import lines


def starts(subscription, how_many):
    return [period.start.isoformat() for period in islice(subscription.periods(), how_many)]


class PeriodsTest(unittest.TestCase):
    def test_middle_of_the_month(self):
        subscription = Subscription("ann", PLANS["monthly"], date(2023, 11, 15))
        self.assertEqual(starts(subscription, 3), ["2023-11-15", "2023-12-15", "2024-01-15"])

    def test_monthly_from_the_31st(self):
        subscription = Subscription("ann", PLANS["monthly"], date(2023, 1, 31))
        self.assertEqual(
            starts(subscription, 6),
            ["2023-01-31", "2023-02-28", "2023-03-31", "2023-04-30", "2023-05-31", "2023-06-30"],
        )

    def test_monthly_from_the_30th(self):
        subscription = Subscription("ann", PLANS["monthly"], date(2023, 12, 30))
        self.assertEqual(starts(subscription, 4), ["2023-12-30", "2024-01-30", "2024-02-29", "2024-03-30"])

    def test_quarterly_from_the_30th(self):
        subscription = Subscription("ann", PLANS["quarterly"], date(2022, 11, 30))
        self.assertEqual(starts(subscription, 3), ["2022-11-30", "2023-02-28", "2023-05-30"])

    def test_yearly_from_a_leap_day(self):
        subscription = Subscription("ann", PLANS["yearly"], date(2020, 2, 29))
        self.assertEqual(
            starts(subscription, 5),
            ["2020-02-29", "2021-02-28", "2022-02-28", "2023-02-28", "2024-02-29"],
        )

    def test_periods_have_no_gaps(self):
        subscription = Subscription("ann", PLANS["monthly"], date(2023, 8, 31))
        periods = list(islice(subscription.periods(), 30))
        for one, following in zip(periods, periods[1:]):
            self.assertEqual(one.end + timedelta(days=1), following.start)
            self.assertEqual(one.number + 1, following.number)


class PeriodForTest(unittest.TestCase):
    def agree(self, subscription, days):
        periods = subscription.periods()
        expected = next(periods)
        day = subscription.start
        for _ in range(days):
            if day > expected.end:
                expected = next(periods)
            self.assertEqual(subscription.period_for(day), expected, day)
            day += timedelta(days=1)

    def test_first_day_after_a_short_month(self):
        subscription = Subscription("ann", PLANS["monthly"], date(2023, 1, 31))
        self.assertEqual(
            subscription.period_for(date(2023, 2, 28)),
            Period(2, date(2023, 2, 28), date(2023, 3, 30)),
        )

    def test_agrees_in_the_middle_of_the_month(self):
        self.agree(Subscription("ann", PLANS["monthly"], date(2023, 3, 10)), 800)

    def test_agrees_for_every_late_day(self):
        for day in (29, 30, 31):
            self.agree(Subscription("ann", PLANS["monthly"], date(2023, 1, day)), 800)
            self.agree(Subscription("ann", PLANS["quarterly"], date(2023, 8, day)), 800)

    def test_agrees_from_a_leap_day(self):
        self.agree(Subscription("ann", PLANS["yearly"], date(2020, 2, 29)), 2000)

    def test_agrees_for_five_months(self):
        self.agree(Subscription("ann", Plan("odd", 5, 100), date(2023, 9, 30)), 900)

    def test_before_the_start(self):
        subscription = Subscription("ann", PLANS["monthly"], date(2023, 1, 31))
        with self.assertRaisesRegex(ValueError, "ann had no subscription on 2023-01-30"):
            subscription.period_for(date(2023, 1, 30))


class RefundTest(unittest.TestCase):
    def test_in_the_middle_of_the_month(self):
        subscription = Subscription("ann", Plan("monthly", 1, 3100), date(2023, 1, 1))
        self.assertEqual(subscription.refund(date(2023, 1, 11)), 2000)
        self.assertEqual(subscription.refund(date(2023, 1, 31)), 0)

    def test_on_the_first_day_of_a_period(self):
        subscription = Subscription("ann", Plan("monthly", 1, 3100), date(2023, 1, 31))
        self.assertEqual(subscription.refund(date(2023, 2, 28)), 3000)


class StatementTest(unittest.TestCase):
    def test_lines(self):
        subscription = Subscription("ann", PLANS["monthly"], date(2023, 3, 15))
        self.assertEqual(
            list(lines(subscription, 2)),
            ["  1  2023-03-15 to 2023-04-14   31 days  12.00", "  2  2023-04-15 to 2023-05-14   30 days  12.00"],
        )


if __name__ == "__main__":
    unittest.main()
