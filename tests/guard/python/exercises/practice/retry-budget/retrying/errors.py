class Transient(Exception):
    """A failure that may not happen again. Raise it, or a subclass, to be called again."""


class GaveUp(Exception):
    """The last failure is the `__cause__`."""

    def __init__(self, attempts, error):
        super().__init__(f"gave up after {attempts} attempts: {error}")
        self.attempts = attempts
