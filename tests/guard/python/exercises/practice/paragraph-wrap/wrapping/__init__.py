"""Wraps plain text."""

from .reflow import reflow

__all__ = ["reflow"]
