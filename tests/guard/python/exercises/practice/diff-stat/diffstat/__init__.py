"""Counts the changed lines of a unified diff."""

from .model import DiffError, FileStat
from .parse import parse
from .render import render

__all__ = ["DiffError", "FileStat", "parse", "render"]
