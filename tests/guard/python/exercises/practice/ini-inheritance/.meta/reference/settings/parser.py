"""Turns the text of an ini file into a document.

A line is empty, a comment (`#` or `;`), a header (`[name]` or `[name : parent, parent]`) or a setting
(`key = value`). A line that starts with white space continues the value of the setting above it.
"""

import re

from .document import Document, Section
from .errors import SettingsError

COLON = re.compile(r"\s+:\s+")


def parse(text):
    document = Document()
    section = None
    key = None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if line[0].isspace():
            if key is None:
                raise SettingsError(number, "continuation without a setting")
            section.values[key] += "\n" + stripped
        elif stripped[0] == "[":
            section = _header(stripped, number, document)
            key = None
        else:
            key = _setting(stripped, number, section)
    _check_parents(document)
    return document


def _check_parents(document):
    # In file order, so that the first mistake in the file is the one that is reported.
    for name in document.sections():
        section = document.find(name)
        circle = _way_back(document, name)
        if circle:
            raise SettingsError(section.line, "inheritance in a circle: " + " -> ".join(circle))
        for parent in section.parents:
            if document.find(parent) is None:
                raise SettingsError(section.line, f"section {name!r} inherits from unknown section {parent!r}")


def _way_back(document, start):
    """The names from a section through its parents back to itself, or None."""
    seen = set()
    waiting = [[start]]
    while waiting:
        way = waiting.pop()
        section = document.find(way[-1])
        if section is None:
            continue
        for parent in reversed(section.parents):
            if parent == start:
                return way + [parent]
            if parent not in seen:
                seen.add(parent)
                waiting.append(way + [parent])
    return None


def _inheritance(inside):
    """Splits the text between the brackets into the name and the parents."""
    parts = COLON.split(inside, 1)
    if len(parts) == 1:
        return inside.strip(), []
    return parts[0].strip(), [parent.strip() for parent in parts[1].split(",")]


def _header(stripped, number, document):
    if stripped[-1] != "]":
        raise SettingsError(number, "section header without a closing bracket")
    name, parents = _inheritance(stripped[1:-1])
    if not name:
        raise SettingsError(number, "section without a name")
    if "" in parents:
        raise SettingsError(number, "empty parent name in section header")
    earlier = document.find(name)
    if earlier is not None:
        raise SettingsError(number, f"section {name!r} already defined on line {earlier.line}")
    section = Section(name, number, parents)
    document.add(section)
    return section


def _setting(stripped, number, section):
    key, equals, value = stripped.partition("=")
    key = key.strip().lower()
    if not equals or not key:
        raise SettingsError(number, "expected `key = value`")
    if section is None:
        raise SettingsError(number, f"setting {key!r} before the first section")
    if key in section.values:
        raise SettingsError(number, f"setting {key!r} is given twice in section {section.name!r}")
    section.values[key] = value.strip()
    return key
