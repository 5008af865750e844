"""A cache with a size limit and a lifetime for its entries."""

from .cache import Cache
from .memoize import memoize
from .stats import Stats

__all__ = ["Cache", "Stats", "memoize"]
