"""The log of a collector: one line a kind and period, with a count of what was held back."""

import logging
import time
from collections.abc import Callable

EVERY_S = 30.0


class LogLimit(logging.Filter):
    """Lets a message of one shape through once a period. The shape is its level and its text without digits."""

    def __init__(self, every_s: float = EVERY_S, now_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._every_s = every_s
        self._now_s = now_s
        self._seen: dict[tuple[int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """False holds the line back and counts it."""
        text = record.getMessage()
        shape = (record.levelno, "".join(c for c in text if not c.isdigit())[:80])
        now_s = self._now_s()
        last = self._seen.get(shape)
        if last is not None and now_s - last[0] < self._every_s:
            self._seen[shape] = last[0], last[1] + 1
            return False
        if last is not None and last[1] > 0:
            record.msg, record.args = f"{text} ({last[1]} more like this in {now_s - last[0]:.0f} s)", None
        if len(self._seen) > 1000:
            self._seen.clear()
        self._seen[shape] = now_s, 0
        return True


def limited_logger(name: str, every_s: float = EVERY_S) -> logging.Logger:
    """A logger whose repeated lines are held back; safe to ask for twice."""
    logger = logging.getLogger(name)
    if not any(isinstance(f, LogLimit) for f in logger.filters):
        logger.addFilter(LogLimit(every_s))
    return logger
