"""The limits of a server, as its settings give them."""

from dataclasses import dataclass

from .durations import parse_duration
from .sizes import parse_size


@dataclass(frozen=True)
class Limits:
    """`memory` is in bytes, `timeout` in seconds."""

    memory: int
    timeout: float

    @classmethod
    def from_settings(cls, settings):
        """Reads `memory` and `timeout` from a dict of texts. Both have a default."""
        return cls(
            memory=parse_size(settings.get("memory", "512m")),
            timeout=parse_duration(settings.get("timeout", "30s")),
        )
