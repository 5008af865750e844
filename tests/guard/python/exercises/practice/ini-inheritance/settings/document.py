"""What a settings file says, ready to be looked up."""

from dataclasses import dataclass, field


@dataclass
class Section:
    name: str
    line: int
    values: dict = field(default_factory=dict)


class Document:
    """Sections in file order. Keys are compared without regard to case."""

    def __init__(self):
        self._sections = {}

    def add(self, section):
        self._sections[section.name] = section

    def find(self, name):
        """The section, or None."""
        return self._sections.get(name)

    def sections(self):
        return list(self._sections)

    def has(self, section, key):
        found = self._sections.get(section)
        return found is not None and key.lower() in found.values

    def get(self, section, key, default=None):
        found = self._sections.get(section)
        if found is None:
            return default
        return found.values.get(key.lower(), default)

    def items(self, section):
        """Pairs of key and value."""
        found = self._sections.get(section)
        if found is None:
            raise KeyError(section)
        return list(found.values.items())
