"""What a settings file says, ready to be looked up."""

from dataclasses import dataclass, field


@dataclass
class Section:
    name: str
    line: int
    parents: list = field(default_factory=list)
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

    def lineage(self, name):
        """The section and all it inherits from, nearest first. A section that is reached twice comes once."""
        order = []
        seen = set()
        waiting = [name]
        while waiting:
            section = self._sections.get(waiting.pop())
            if section is None or section.name in seen:
                continue
            seen.add(section.name)
            order.append(section)
            waiting.extend(reversed(section.parents))
        return order

    def has(self, section, key):
        return any(key.lower() in found.values for found in self.lineage(section))

    def get(self, section, key, default=None):
        for found in self.lineage(section):
            if key.lower() in found.values:
                return found.values[key.lower()]
        return default

    def items(self, section):
        """Pairs of key and value."""
        if section not in self._sections:
            raise KeyError(section)
        merged = {}
        for found in self.lineage(section):
            for key, value in found.values.items():
                merged.setdefault(key, value)
        return list(merged.items())
