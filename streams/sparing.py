"""Says the same thing once in a while: Kafka clients repeat themselves ten times a second while a broker is away."""

import logging
import time
from dataclasses import dataclass, field

EVERY_S = 30.0


@dataclass(slots=True)
class Sparing(logging.Filter):
    """Lets one record of a kind (logger, level, unformatted text) through in `every_s`; counts the others."""

    every_s: float = EVERY_S
    _last: dict[tuple[str, int, str], float] = field(default_factory=dict)
    _held: dict[tuple[str, int, str], int] = field(default_factory=dict)

    def filter(self, record: logging.LogRecord) -> bool:
        """True: let it through."""
        if record.name.startswith("lockstep") and record.levelno < logging.WARNING:
            return True
        kind = (record.name, record.levelno, str(record.msg)[:80])
        now = time.monotonic()
        if now - self._last.get(kind, -self.every_s) < self.every_s:
            self._held[kind] = self._held.get(kind, 0) + 1
            return False
        self._last[kind] = now
        held = self._held.pop(kind, 0)
        if held:
            record.msg = f"{record.msg} ({held} more like it)"
        return True
