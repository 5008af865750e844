"""Remembers the results of a function."""

import functools

from .cache import Cache


def memoize(capacity=128, lifetime=None, **options):
    """A decorator. The function gets an attribute `cache`. Its arguments must be hashable."""

    def decorate(function):
        cache = Cache(capacity, lifetime, **options)

        @functools.wraps(function)
        def remembered(*args, **kwargs):
            key = (args, frozenset(kwargs.items()))
            value = cache.get(key)
            if value is None:
                value = function(*args, **kwargs)
                cache.put(key, value)
            return value

        remembered.cache = cache
        return remembered

    return decorate
