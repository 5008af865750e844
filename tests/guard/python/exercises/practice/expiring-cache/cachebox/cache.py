"""The cache itself."""

import time
from collections import OrderedDict
from dataclasses import dataclass

from .stats import Stats


@dataclass
class Slot:
    value: object
    expires: float


class Cache:
    """Holds up to `capacity` entries for up to `lifetime` seconds each. None as the lifetime means no limit.

    The entries are kept in the order of their use, with the least recently used one first.
    """

    def __init__(self, capacity, lifetime=None, clock=time.monotonic):
        if capacity < 1:
            raise ValueError("the capacity must be at least 1")
        self.capacity = capacity
        self.lifetime = lifetime
        self.stats = Stats()
        self._clock = clock
        self._slots = OrderedDict()

    def get(self, key, default=None):
        """The value, which becomes the most recently used one, or the default."""
        slot = self._live(key)
        if slot is None:
            self.stats.misses += 1
            return default
        self.stats.hits += 1
        return slot.value

    def put(self, key, value, lifetime=None):
        """Stores a value. A lifetime given here is used in place of the lifetime of the cache."""
        if len(self._slots) >= self.capacity:
            self._slots.popitem(last=False)
            self.stats.evictions += 1
        seconds = self.lifetime if lifetime is None else lifetime
        expires = float("inf") if seconds is None else self._clock() + seconds
        self._slots[key] = Slot(value, expires)

    def peek(self, key, default=None):
        """The value or the default, without any trace of the look-up."""
        slot = self._live(key)
        return default if slot is None else slot.value

    def discard(self, key):
        """Removes an entry. True if there was a live one."""
        slot = self._slots.pop(key, None)
        return slot is not None and slot.expires > self._clock()

    def keys(self):
        """The keys of the live entries, least recently used first."""
        now = self._clock()
        return [key for key, slot in self._slots.items() if slot.expires > now]

    def __contains__(self, key):
        return self._live(key) is not None

    def __len__(self):
        return len(self._slots)

    def _live(self, key):
        slot = self._slots.get(key)
        if slot is None:
            return None
        if slot.expires <= self._clock():
            del self._slots[key]
            return None
        self._slots.move_to_end(key)
        return slot
