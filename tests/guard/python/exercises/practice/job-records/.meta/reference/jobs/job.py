"""A job and its form in a file."""

from dataclasses import dataclass, field

REQUIRED = ("id", "name", "payload")
OPTIONAL = ("priority", "attempts")


@dataclass
class Job:
    """`extra` has what a file says about the job beyond the fields that are known here."""

    id: int
    name: str
    payload: object
    priority: int = 0
    attempts: int = 0
    extra: dict = field(default_factory=dict)

    @classmethod
    def from_data(cls, data):
        """Raises ValueError if something is missing."""
        for name in REQUIRED:
            if name not in data:
                raise ValueError(f"no {name!r}")
        known = {name: data[name] for name in REQUIRED + OPTIONAL if name in data}
        return cls(**known, extra={name: value for name, value in data.items() if name not in known})

    @classmethod
    def from_parts(cls, parts):
        """Reads the format of version 1, a list. Raises ValueError if it has another length."""
        if len(parts) != 5:
            raise ValueError(f"{len(parts)} parts instead of 5")
        number, priority, name, payload, attempts = parts
        return cls(number, name, payload, priority, attempts)

    def to_data(self):
        data = {name: getattr(self, name) for name in REQUIRED + OPTIONAL}
        data.update(self.extra)
        return data
