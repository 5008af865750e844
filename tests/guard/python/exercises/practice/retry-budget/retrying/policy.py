"""How often to try, and how long to wait in between."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """The waits are `base`, `base * factor`, `base * factor ** 2` and so on, but never more than `max_delay`."""

    attempts: int = 5
    base: float = 0.5
    factor: float = 2.0
    max_delay: float = 60.0

    def __post_init__(self):
        if self.attempts < 1:
            raise ValueError("attempts must be at least 1")
        if self.base < 0 or self.max_delay < 0:
            raise ValueError("delays must not be negative")
        if self.factor < 1:
            raise ValueError("factor must be at least 1")

    def delay(self, step):
        """The wait for a step of the backoff, which counts from 0."""
        return min(self.base * self.factor**step, self.max_delay)
