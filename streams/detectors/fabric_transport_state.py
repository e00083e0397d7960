"""What the transport detector remembers of one host."""

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec import field as kept_field

from streams.detectors.fabric_detector import DeviceKept, DeviceState
from streams.detectors.fabric_transport_limits import TransportLimits

MINUTE_US = 60_000_000
MOST_READINGS = 240
"""In one window; where more come the oldest are put together."""


@dataclass(slots=True)
class Retries:
    """The last minutes of one port that had to repeat something."""

    ts_us: int = 0
    recent: list[tuple[int, int, dict[str, float]]] = field(default_factory=list)
    """Window (from, to) and what each counter grew by in it, of the last minute."""
    usual_per_minute: float = 0.0
    """What is usual, decaying; taken in while no record is open."""
    usual_us: int = 0

    def take(self, ts_us: int, window_us: int, grown: dict[str, float], limits: TransportLimits) -> bool:
        """One reading; False: it is no news."""
        if ts_us <= self.ts_us:
            return False
        self.ts_us = ts_us
        self.recent.append((ts_us - window_us, ts_us, grown))
        while self.recent[0][1] <= ts_us - limits.window_us:
            del self.recent[0]
        if len(self.recent) > MOST_READINGS:
            (from_us, _, first), (_, to_us, second), *rest = self.recent
            sums = {name: first.get(name, 0.0) + second.get(name, 0.0) for name in {**first, **second}}
            self.recent = [(from_us, to_us, sums), *rest]
        return True

    def per_minute(self, names: frozenset[str], limits: TransportLimits) -> float:
        """Rate over the window; over its readings where they go back further."""
        span_us = max(limits.window_us, self.ts_us - self.recent[0][0])
        return sum(grown.get(name, 0.0) for _, _, grown in self.recent for name in names) * MINUTE_US / span_us

    def learn(self, rate: float, limits: TransportLimits, *, first: bool) -> None:
        """Take a rate in as usual, weighed by the time since the last one. `first`: nothing else is known."""
        if first:
            self.usual_per_minute, self.usual_us = rate, self.ts_us
            return
        past_us = self.ts_us - self.usual_us if self.usual_us else limits.window_us
        kept = 0.5 ** (past_us / limits.memory_us)
        self.usual_per_minute = self.usual_per_minute * kept + rate * (1.0 - kept)
        self.usual_us = self.ts_us


class Record(Struct):
    """An open record."""

    limit: float
    """The rate at which it opened."""
    low_since_us: int | None = None
    columns: list[str] = kept_field(default_factory=list)


class TransportKept(DeviceKept):
    """What outlives the process: it changes with the edges, and when an open record turns calm or not."""

    records: dict[str, Record] = kept_field(default_factory=dict)
    """By port, as `episodes`."""


@dataclass(slots=True)
class TransportState(DeviceState[TransportKept]):
    """All of one host."""

    kept: TransportKept = field(default_factory=TransportKept)
    ports: dict[str, Retries] = field(default_factory=dict)
    begun_us: int | None = None
    """The first scrape that told of transport: what a port does in the first window after it is usual."""
