"""A queue of jobs that is kept in a file."""

from .job import Job
from .queue import Queue
from .store import StoreError, load, save
from .worker import run

__all__ = ["Job", "Queue", "StoreError", "load", "run", "save"]
