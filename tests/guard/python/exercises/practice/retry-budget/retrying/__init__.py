"""Calls a function again after failures that may pass."""

from .errors import GaveUp, Transient
from .policy import Policy
from .runner import call, retried

__all__ = ["GaveUp", "Policy", "Transient", "call", "retried"]
