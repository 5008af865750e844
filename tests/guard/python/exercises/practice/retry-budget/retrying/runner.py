"""Makes the calls."""

import functools
import time

from .errors import GaveUp, Transient
from .policy import Policy


def call(function, policy=Policy(), sleep=time.sleep, clock=time.monotonic):
    """Calls the function until it returns. Any failure but `Transient` is passed on at once."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return function()
        except Transient as error:
            if attempt == policy.attempts:
                raise GaveUp(attempt, error) from error
            delay = policy.delay(attempt - 1)
        sleep(delay)


def retried(policy=Policy(), **options):
    """A decorator that retries each call of a function."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return call(lambda: function(*args, **kwargs), policy, **options)

        return wrapper

    return decorate
