"""The plans a customer can choose."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    name: str
    months: int
    cents: int

    def __post_init__(self):
        if self.months < 1:
            raise ValueError(f"plan {self.name!r} must last at least one month")
        if self.cents < 0:
            raise ValueError(f"plan {self.name!r} has a negative price")


PLANS = {
    plan.name: plan
    for plan in (
        Plan("monthly", 1, 1200),
        Plan("quarterly", 3, 3300),
        Plan("yearly", 12, 12000),
    )
}
