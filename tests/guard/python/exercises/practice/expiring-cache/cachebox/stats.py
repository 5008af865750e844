"""Counts what happens in a cache."""

from dataclasses import dataclass


@dataclass
class Stats:
    hits: int = 0
    misses: int = 0
    evictions: int = 0

    @property
    def ratio(self):
        """Hits as a share of all look-ups, from 0 to 1. It is 0 before the first look-up."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0

    def __str__(self):
        return f"{self.hits} hits, {self.misses} misses ({self.ratio:.0%}), {self.evictions} evictions"
