class Transient(Exception):
    """A failure that may not happen again. Raise it, or a subclass, to be called again.

    `retry_after` is how many seconds the other side asks to wait, or None.
    """

    def __init__(self, *args, retry_after=None):
        super().__init__(*args)
        self.retry_after = retry_after


class GaveUp(Exception):
    """The last failure is the `__cause__`. `reason` is "attempts" or "budget"."""

    def __init__(self, attempts, error, elapsed=0.0, budget=None):
        """A budget is given only if it is the reason."""
        plural = "" if attempts == 1 else "s"
        limit = "" if budget is None else f", budget {budget:g} s"
        super().__init__(f"gave up after {attempts} attempt{plural} in {elapsed:.1f} s{limit}: {error}")
        self.attempts = attempts
        self.elapsed = elapsed
        self.reason = "attempts" if budget is None else "budget"
