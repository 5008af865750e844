"""Billing periods of subscriptions."""

from .plans import PLANS, Plan
from .subscription import Period, Subscription

__all__ = ["PLANS", "Period", "Plan", "Subscription"]
