"""Makes the calls."""

import functools
import time

from .errors import GaveUp, Transient
from .policy import Policy


def call(function, policy=Policy(), sleep=time.sleep, clock=time.monotonic):
    """Calls the function until it returns. Any failure but `Transient` is passed on at once."""
    attempt = 0
    step = 0
    start = clock()
    while True:
        attempt += 1
        try:
            return function()
        except Transient as error:
            elapsed = clock() - start
            if attempt == policy.attempts:
                raise GaveUp(attempt, error, elapsed) from error
            if error.retry_after is None:
                delay = policy.delay(step)
                step += 1
            else:
                delay = max(error.retry_after, 0)
            if policy.budget is not None and elapsed + delay > policy.budget:
                raise GaveUp(attempt, error, elapsed, policy.budget) from error
        sleep(delay)


def retried(policy=Policy(), **options):
    """A decorator that retries each call of a function."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return call(lambda: function(*args, **kwargs), policy, **options)

        return wrapper

    return decorate
