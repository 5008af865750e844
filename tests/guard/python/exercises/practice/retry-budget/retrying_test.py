import unittest

from retrying import GaveUp, Policy, Transient, call, retried


class Busy(Transient):
    pass


class World:
    """A clock that moves when someone sleeps or works."""

    def __init__(self):
        self.now = 1000.0
        self.waits = []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds

    def worker(self, *outcomes, takes=0.0):
        """A function that raises or returns the outcomes one after the other."""
        remaining = list(outcomes)

        def work():
            self.now += takes
            outcome = remaining.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return work


class Case(unittest.TestCase):
    def setUp(self):
        self.world = World()

    def call(self, work, **policy):
        return call(work, Policy(**policy), sleep=self.world.sleep, clock=self.world.clock)

    def gives_up(self, work, **policy):
        with self.assertRaises(GaveUp) as caught:
            self.call(work, **policy)
        self.assertIsInstance(caught.exception.__cause__, Transient)
        return caught.exception


class BackoffTest(Case):
    def test_success_at_once(self):
        self.assertEqual(self.call(self.world.worker("done")), "done")
        self.assertEqual(self.world.waits, [])

    def test_waits(self):
        work = self.world.worker(*[Transient("busy")] * 4, "done")
        self.assertEqual(self.call(work, base=1, factor=3, max_delay=5), "done")
        self.assertEqual(self.world.waits, [1, 3, 5, 5])

    def test_other_failures_are_passed_on(self):
        with self.assertRaises(KeyError):
            self.call(self.world.worker(KeyError("x"), "done"))
        self.assertEqual(self.world.waits, [])

    def test_decorator(self):
        outcomes = [Transient("busy")]

        @retried(Policy(base=1), sleep=self.world.sleep)
        def double(number):
            if outcomes:
                raise outcomes.pop()
            return 2 * number

        self.assertEqual(double(4), 8)
        self.assertEqual(self.world.waits, [1])

    def test_bad_policies(self):
        for options in ({"attempts": 0}, {"base": -1}, {"factor": 0.5}, {"max_delay": -1}):
            with self.assertRaises(ValueError):
                Policy(**options)


class RetryAfterTest(Case):
    def test_is_used_as_it_is(self):
        work = self.world.worker(Transient("busy", retry_after=90), Busy("busy", retry_after=0.1), "done")
        self.assertEqual(self.call(work, base=1, max_delay=10), "done")
        self.assertEqual(self.world.waits, [90, 0.1])

    def test_is_not_a_step_of_the_backoff(self):
        work = self.world.worker(
            Transient("busy"),
            Transient("busy", retry_after=7),
            Transient("busy"),
            Transient("busy", retry_after=0),
            Transient("busy"),
            "done",
        )
        self.call(work, base=1, attempts=6)
        self.assertEqual(self.world.waits, [1, 7, 2, 0, 4])

    def test_negative(self):
        work = self.world.worker(Transient("busy", retry_after=-5), "done")
        self.call(work)
        self.assertEqual(self.world.waits, [0])

    def test_attribute(self):
        self.assertIsNone(Transient("busy").retry_after)
        self.assertEqual(Transient("busy", retry_after=2).retry_after, 2)
        self.assertEqual(str(Busy("busy", retry_after=2)), "busy")


class BudgetTest(Case):
    def test_wait_that_would_end_too_late(self):
        error = self.gives_up(self.world.worker(*[Transient("busy")] * 9), base=1, budget=6)
        self.assertEqual(self.world.waits, [1, 2])
        self.assertEqual((error.reason, error.attempts, error.elapsed), ("budget", 3, 3.0))

    def test_wait_that_ends_with_the_budget(self):
        work = self.world.worker(Transient("busy"), Transient("busy"), "done")
        self.assertEqual(self.call(work, base=1, budget=3), "done")
        self.assertEqual(self.world.waits, [1, 2])

    def test_attempts_take_time(self):
        error = self.gives_up(self.world.worker(*[Transient("busy")] * 9, takes=2), base=1, budget=6)
        self.assertEqual(self.world.waits, [1])
        self.assertEqual((error.reason, error.attempts, error.elapsed), ("budget", 2, 5.0))

    def test_slow_attempt_may_still_succeed(self):
        self.assertEqual(self.call(self.world.worker("done", takes=60), budget=6), "done")

    def test_retry_after_counts(self):
        error = self.gives_up(self.world.worker(Transient("busy", retry_after=31)), budget=30)
        self.assertEqual(self.world.waits, [])
        self.assertEqual(error.reason, "budget")

    def test_both_limits(self):
        error = self.gives_up(self.world.worker(*[Transient("busy")] * 2, takes=4), base=1, attempts=2, budget=6)
        self.assertEqual((error.reason, error.attempts, error.elapsed), ("attempts", 2, 9.0))

    def test_no_budget(self):
        error = self.gives_up(self.world.worker(*[Transient("busy")] * 3), base=40, attempts=3)
        self.assertEqual((error.reason, error.elapsed), ("attempts", 100.0))

    def test_bad_budgets(self):
        for budget in (0, -1):
            with self.assertRaises(ValueError):
                Policy(budget=budget)


class MessageTest(Case):
    def test_attempts(self):
        error = self.gives_up(self.world.worker(*[Transient("busy")] * 3, takes=0.5), base=1, attempts=3)
        self.assertEqual(str(error), "gave up after 3 attempts in 4.5 s: busy")

    def test_one_attempt(self):
        error = self.gives_up(self.world.worker(Transient("no luck")), attempts=1)
        self.assertEqual(str(error), "gave up after 1 attempt in 0.0 s: no luck")

    def test_budget(self):
        error = self.gives_up(self.world.worker(*[Transient("busy")] * 2, takes=0.5), base=1, budget=2.5)
        self.assertEqual(str(error), "gave up after 2 attempts in 2.0 s, budget 2.5 s: busy")

    def test_round_budget(self):
        error = self.gives_up(self.world.worker(Transient("busy", retry_after=40)), budget=30.0)
        self.assertEqual(str(error), "gave up after 1 attempt in 0.0 s, budget 30 s: busy")


if __name__ == "__main__":
    unittest.main()
