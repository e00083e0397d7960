"""How long the operations of one kind take in one communicator, against their own past."""

import math
from collections import Counter, deque
from dataclasses import dataclass, field

from streams.detectors.comm_join import Joined, Kind
from streams.detectors.comm_limits import CommLimits
from streams.detectors.straggler_statistic import median, sigma_of

_WINDOWS = 32
"""Closed windows that are looked back on for late ranks."""


@dataclass(slots=True)
class Transfers:
    """Windows of one kind. `past`: ln(seconds) of the windows before those that are slow."""

    past: deque[float]
    values: list[float] = field(default_factory=list)
    recent: list[float] = field(default_factory=list)
    slow: bool = False
    factor: float = 1.0
    excess_s: float = 0.0
    """Seconds that one operation takes longer than it did."""
    base_s: float | None = None
    count: int = 0
    """Operations in the last window."""

    def close(self, limits: CommLimits) -> bool:
        """End a window; was it judged?"""
        self.count = len(self.values)
        if self.count < limits.window_least:
            return False
        now = math.log(median(self.values))
        self.values = []
        if len(self.past) < limits.base_least:
            self.past.append(now)
            return False
        base = median(list(self.past))
        self.recent.append(now)
        del self.recent[: -limits.slow_windows]
        excess = [value - base for value in self.recent]
        sigma = sigma_of(list(self.past), limits.noise_floor)
        if self.slow:
            if len(excess) == limits.slow_windows and max(excess) < math.log(limits.settled):
                self.slow = False
        elif len(excess) == limits.slow_windows and min(excess) >= math.log(limits.slow):
            mean = sum(excess) / len(excess)
            self.slow = mean * math.sqrt(len(excess)) / sigma >= limits.z
        self.factor = math.exp(median(excess))
        self.base_s = math.exp(base)
        self.excess_s = max(0.0, math.exp(median(self.recent)) - self.base_s)
        if not self.slow and now - base < math.log(limits.slow):
            self.past.append(now)
        return True


@dataclass(slots=True)
class Window:
    """Some seconds of a communicator's collectives, closed."""

    ts_us: int
    seconds: float
    count: int
    rounds: int
    """Moments at which they were told: collectives of one step are not independent of each other."""
    last: Counter[int]
    """Rank -> collectives in which it came last."""
    wait_s: float
    """Sum of the others' median waits."""
    waits: float
    """Median of them."""


@dataclass(slots=True)
class Series:
    """All kinds of one communicator, in common windows."""

    kinds: dict[Kind, Transfers] = field(default_factory=dict)
    windows: deque[Window] = field(default_factory=lambda: deque(maxlen=_WINDOWS))
    began_us: int | None = None
    ends_us: int = 0
    """The last collective of the open window."""
    rounds: int = 0
    stride: int = 1
    """Of so many collectives one is looked at."""
    last: Counter[int] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)
    bases: dict[str, float] = field(default_factory=dict)
    """What was kept of its past over a restart: it was slow then, and is until it shows otherwise."""
    judged_us: int = 0
    """The last window in which a kind was compared with its past."""

    def take(self, limits: CommLimits, joined: Joined) -> bool:
        """Add a collective; did a window close? It closes with the first collective beyond its length."""
        closed = False
        if self.began_us is None:
            self.began_us = joined.ts_us
        elif joined.ts_us >= self.began_us + limits.window_us and len(self.waits_s) >= limits.window_least:
            self._close(limits)
            closed = True
        transfers = self.kinds.get(joined.kind)
        if transfers is None:
            if len(self.kinds) >= 64:
                return closed
            transfers = self.kinds[joined.kind] = self._begin(limits, joined.kind)
        if joined.transfer_s > 0:
            transfers.values.append(joined.transfer_s)
        self.waits_s.append(joined.wait_s)
        if joined.last is not None:
            self.last[joined.last] += 1
        if joined.ts_us > self.ends_us or self.rounds == 0:
            self.rounds += 1
        self.ends_us = max(self.ends_us, joined.ts_us)
        return closed

    def _begin(self, limits: CommLimits, kind: Kind) -> Transfers:
        base = self.bases.get(_named(kind))
        past = deque([base] * limits.base_least if base is not None else (), maxlen=limits.base_windows)
        return Transfers(past, slow=base is not None)

    def past_of_slow(self) -> dict[str, float]:
        """What to keep: the past of the kinds that are slow."""
        return {_named(kind): median(list(one.past)) for kind, one in self.slow_kinds() if one.past}

    def _close(self, limits: CommLimits) -> None:
        assert self.began_us is not None
        seconds = max(0, self.ends_us - self.began_us) / 1e6
        count = len(self.waits_s)
        if not self.windows:
            # The very first collective stands at its beginning: n of them span n - 1 periods.
            seconds *= count / max(1, count - 1)
        self.windows.append(
            Window(self.ends_us, seconds, count, self.rounds, self.last, sum(self.waits_s), median(self.waits_s))
        )
        for transfers in self.kinds.values():
            if transfers.close(limits):
                self.judged_us = self.ends_us
        self.began_us, self.last, self.waits_s, self.rounds = self.ends_us, Counter(), [], 0

    def excess(self) -> float:
        """Share of the time that the slow kinds take beyond what they did."""
        newest = self.windows[-1] if self.windows else None
        if newest is None or newest.seconds <= 0:
            return 0.0
        return min(0.95, sum(one.excess_s * one.count * self.stride for _, one in self.slow_kinds()) / newest.seconds)

    def slow_kinds(self) -> list[tuple[Kind, Transfers]]:
        """Kinds that are slower than they were."""
        return [(kind, one) for kind, one in self.kinds.items() if one.slow]


def _named(kind: Kind) -> str:
    return f"{kind[0]}/{kind[1]}"
