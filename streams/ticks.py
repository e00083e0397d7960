"""When to tell the time: the clock of recorded messages, and the one of a live worker that may lag."""

from collections.abc import Iterator
from dataclasses import dataclass

S = 1_000_000
FINE_GAP_US = 300 * S


@dataclass(slots=True)
class EventClock:
    """Whole seconds of event time, as recorded messages pass by."""

    now_us: int | None = None

    def advance(self, ts_us: int) -> Iterator[int]:
        """Ticks up to `ts_us`; none for what is older than the clock.

        Every second; over a gap of more than five minutes 300 ticks in all, as what a tick brings about
        carries the time of its deadline, not of the tick.
        """
        if self.now_us is None:
            self.now_us = ts_us // S * S
            return
        gap = ts_us - self.now_us
        step = S if gap <= FINE_GAP_US else max(S, gap // 300 // S * S)
        while self.now_us + step <= ts_us:
            self.now_us += step
            yield self.now_us
