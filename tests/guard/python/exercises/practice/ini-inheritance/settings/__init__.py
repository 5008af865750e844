"""Reads settings from ini files."""

from .document import Document
from .errors import SettingsError
from .loader import load
from .parser import parse

__all__ = ["Document", "SettingsError", "load", "parse"]
