"""Turns the text of an ini file into a document.

A line is empty, a comment (`#` or `;`), a header (`[name]`) or a setting (`key = value`). A line that starts with white
space continues the value of the setting above it.
"""

from .document import Document, Section
from .errors import SettingsError


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
    return document


def _header(stripped, number, document):
    if stripped[-1] != "]":
        raise SettingsError(number, "section header without a closing bracket")
    name = stripped[1:-1].strip()
    if not name:
        raise SettingsError(number, "section without a name")
    earlier = document.find(name)
    if earlier is not None:
        raise SettingsError(number, f"section {name!r} already defined on line {earlier.line}")
    section = Section(name, number)
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
