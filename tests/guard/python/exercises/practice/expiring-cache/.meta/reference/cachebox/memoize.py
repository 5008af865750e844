"""Remembers the results of a function."""

import functools

from .cache import Cache

ABSENT = object()


def memoize(capacity=128, lifetime=None, **options):
    """A decorator. The function gets an attribute `cache`. Its arguments must be hashable."""

    def decorate(function):
        cache = Cache(capacity, lifetime, **options)

        @functools.wraps(function)
        def remembered(*args, **kwargs):
            key = (
                tuple((type(value), value) for value in args),
                frozenset((name, type(value), value) for name, value in kwargs.items()),
            )
            value = cache.get(key, ABSENT)
            if value is ABSENT:
                value = function(*args, **kwargs)
                cache.put(key, value)
            return value

        remembered.cache = cache
        return remembered

    return decorate
