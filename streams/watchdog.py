"""Ends a worker whose recovery makes no progress: Faust would wait for ever, with only a warning."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

STUCK_S = 60.0


@dataclass(slots=True)
class Watchdog:
    """Looks at the Tables' recovery once a second."""

    stuck_s: float = STUCK_S
    stuck: bool = False

    async def watch(self, parts: Any) -> None:
        """Returns, with `stuck` set, when recovery stood still for too long."""
        recovery = parts.app.tables.recovery
        last: object = None
        moved = time.monotonic()
        while True:
            await asyncio.sleep(1.0)
            now = (parts.settled, recovery.in_recovery, sum(v or 0 for v in recovery.active_offsets.values()))
            idle = not recovery.in_recovery
            if now != last or idle:
                last, moved = now, time.monotonic()
            elif time.monotonic() - moved > self.stuck_s:
                self.stuck = True
                return
