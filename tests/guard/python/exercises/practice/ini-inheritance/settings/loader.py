"""Loads a settings file from disk."""

from pathlib import Path

from .errors import SettingsError
from .parser import parse


def load(path):
    """Parses the file. A mistake in it is reported with the name of the file."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        return parse(text)
    except SettingsError as error:
        raise ValueError(f"{path}, {error}") from error
