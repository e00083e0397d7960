"""When to tell the time: the clock of recorded messages, and the one of a live worker that may lag."""

from collections.abc import Iterable, Iterator
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerClockLimits:
    """Starting points of ours."""

    behind_us: int = S
    """How far the tick stays behind the wall clock, for messages on their way."""
    hiccup_us: int = 3 * S
    """A broker that did not answer for less than this was not away."""
    hold_us: int = 30 * S
    """After an outage the collectors reconnect (librdkafka waits up to 10 s) and begin to empty their spools. ..."""
    spool_us: int = 10 * S
    """... Where the newest message is older than this, they are still at it, ..."""
    longer: float = 2.0
    """... for up to so many times as long as the outage was, ..."""
    most_hold_us: int = 600 * S
    """... and no longer than this: who is silent then is silent."""
    alive_us: int = 30 * S
    """Partitions that were heard of so shortly before the outage must be heard of again."""


@dataclass(slots=True)
class WorkerClock:
    """The time that a live worker may tell its detectors.

    While Kafka is away, and while the collectors catch up afterwards, time stands still: what was not
    delivered is not silence. Otherwise the wall clock, a little behind.
    """

    limits: WorkerClockLimits = WorkerClockLimits()
    _heard_us: int | None = None
    _frozen_us: int | None = None
    _hold_until_us: int = 0
    _most_until_us: int = 0
    _away: bool = False

    def missed(self, now_us: int) -> None:
        """The broker did not answer."""
        if self._heard_us is not None and now_us - self._heard_us >= self.limits.hiccup_us and not self._away:
            self._away = True
            if self._frozen_us is None:
                self._frozen_us = self._heard_us - self.limits.behind_us

    def heard(self, now_us: int) -> None:
        """The broker answered."""
        if self._away and self._heard_us is not None:
            longest = min(round(self.limits.longer * (now_us - self._heard_us)), self.limits.most_hold_us)
            self._hold_until_us = now_us + self.limits.hold_us
            self._most_until_us = max(self._most_until_us, now_us + max(longest, self.limits.hold_us))
            self._away = False
        self._heard_us = now_us

    def now(self, now_us: int, newest_us: Iterable[int] = ()) -> int | None:
        """What to tell; None: nothing is known yet. `newest_us`: time of the newest message of each partition."""
        if self._heard_us is None:
            return None
        if self._frozen_us is not None:
            if self._away or now_us < self._hold_until_us:
                return self._frozen_us
            if now_us < self._most_until_us and self._empties(self._frozen_us, now_us, newest_us):
                return self._frozen_us
            self._frozen_us = None
        return min(now_us, self._heard_us) - self.limits.behind_us

    def _empties(self, frozen_us: int, now_us: int, newest_us: Iterable[int]) -> bool:
        """Does a partition that was alive before the outage still lag behind?"""
        alive_us, fresh_us = frozen_us - self.limits.alive_us, now_us - self.limits.spool_us
        return any(alive_us <= us < fresh_us for us in newest_us)


@dataclass(slots=True)
class Reached:
    """How far a partition group was read: next offsets and the time of the last message of each topic."""

    next: dict[str, int]
    seen_us: dict[str, int]

    def time(self, ends: dict[str, int], clock_us: int) -> int | None:
        """The clock when everything up to `ends` was read, else the time of the topic that lags most.

        None: a topic that lags has not been read at all.
        """
        lagging = [topic for topic, end in ends.items() if self.next.get(topic, 0) < end]
        if not lagging:
            return clock_us
        times = [self.seen_us.get(topic) for topic in lagging]
        known = [t for t in times if t is not None]
        return min(*known, clock_us) if len(known) == len(times) else None
