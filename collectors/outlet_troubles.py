"""What a person who reads the log is told of targets: a line when one fails, changes its reason, and reads again."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from collectors.contract.beat import Beat
from collectors.reasons import reason

PROCESS = "collect"
CALM_S = 60.0
"""Least time between two lines of one target: one that comes and goes is no news each time."""
AGAIN_S = 3600.0
"""A target that still fails is told again so often."""
LINES = 20
"""Most lines in `CALM_S` seconds: a network that is down takes a thousand targets with it."""
MOST = 20_000


@dataclass(slots=True)
class _Open:
    reason: str
    since_s: float
    told_s: float
    sweeps: int = 0


class Troubles:
    """Hears every beat. Bounded, whatever targets are called."""

    def __init__(self, log: logging.Logger, now_s: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._now_s = now_s
        self._open: dict[tuple[str, str], _Open] = {}
        self._window_s = float("-inf")
        self._lines = self._held = 0

    def hear(self, beat: Beat) -> None:
        """One sweep. What the process says of itself is in the log already."""
        if beat.source == PROCESS:
            return
        key = (beat.source, beat.target or beat.collector)
        trouble, now_s = self._open.get(key), self._now_s()
        if beat.ok:
            if trouble is not None and now_s - trouble.told_s >= CALM_S:
                del self._open[key]
                self._tell(
                    logging.INFO,
                    f"{key[0]} {key[1]}: read again, after {trouble.sweeps} failed sweeps in "
                    f"{now_s - trouble.since_s:.0f} s",
                )
            return
        why = beat.error or "it failed and says no reason"
        short = reason(why)
        if trouble is None:
            if len(self._open) >= MOST:
                self._open.clear()
            trouble = self._open[key] = _Open(short, now_s, now_s)
            self._tell(logging.WARNING, f"{key[0]} {key[1]}: {why}")
        elif now_s - trouble.told_s >= (AGAIN_S if trouble.reason == short else CALM_S):
            trouble.reason, trouble.told_s = short, now_s
            self._tell(logging.WARNING, f"{key[0]} {key[1]}: {why} (failing for {now_s - trouble.since_s:.0f} s)")
        trouble.sweeps += 1

    def _tell(self, level: int, text: str) -> None:
        now_s = self._now_s()
        if now_s - self._window_s >= CALM_S:
            if self._held:
                self._log.warning("%d more lines of targets were held back; their beats say all of it", self._held)
            self._window_s, self._lines, self._held = now_s, 0, 0
        if self._lines >= LINES:
            self._held += 1
            return
        self._lines += 1
        self._log.log(level, "%s", text)
