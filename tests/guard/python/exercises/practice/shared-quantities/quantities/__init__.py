"""Sizes and durations as people write them."""

from .durations import parse_duration
from .errors import QuantityError
from .limits import Limits
from .sizes import parse_size

__all__ = ["Limits", "QuantityError", "parse_duration", "parse_size"]
