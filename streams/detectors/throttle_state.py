"""What is remembered of a node's clocks."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from collectors.contract.gpu import GpuScrape
from streams.detectors.throttle_causes import Why, why
from streams.detectors.throttle_reading import Pace, Reading, ThrottleLimits, is_free
from streams.episodes import Episodes
from streams.successors import Slots

FADE = 0.9
"""Of a reason's past seconds at each scrape: the cause follows what holds the clock now."""
MOST_PARTS = 256
LEARN_US = 60_000_000
"""Between two looks at the usual clocks."""
WEIGHT = 0.1
"""Of a new look."""


@dataclass(slots=True)
class Usual:
    """The clock of a GPU at work that nothing holds down."""

    mhz: float
    for_us: int = 0
    """Work it was learned from."""


@dataclass(slots=True)
class Part:
    """A GPU that is or was slow or hot. Counts are scrapes in a row; those without load count for nothing."""

    slow: int = 0
    hot: int = 0
    spent: int = 0
    """Hot, with no degree left."""
    fine: int = 0
    fine_from_us: int = 0
    held: dict[str, float] = field(default_factory=dict)
    """Reason -> seconds, of late."""
    with_node: bool = False
    """It belongs to the episode of the node, or to one about to open."""

    def count(self, its: Pace, hot: bool, spent: bool, held: dict[str, float], ts_us: int) -> None:
        """Take one scrape under load."""
        self.slow = self.slow + 1 if its.slow else 0
        self.hot = self.hot + 1 if hot else 0
        self.spent = self.spent + 1 if spent else 0
        self.held = {word: s * FADE for word, s in self.held.items()}
        for word, s in held.items():
            self.held[word] = self.held.get(word, 0.0) + s
        if its.fine and not hot:
            self.fine_from_us = min(self.fine_from_us, ts_us) if self.fine else ts_us
            self.fine += 1
        elif its.slow or hot:
            self.fine = 0

    def is_over(self, now_us: int, limits: ThrottleLimits) -> bool:
        """Has it run well for long enough?"""
        return self.fine >= limits.fine_windows and now_us - self.fine_from_us >= limits.fine_us


@dataclass(slots=True)
class ThrottleState:
    """One node. Only the episodes outlive the process."""

    episodes: Episodes = field(default_factory=Episodes)
    parts: dict[str, Part] = field(default_factory=dict)
    last: dict[str, GpuScrape] = field(default_factory=dict)
    """Source -> its last scrape."""
    usual: dict[str, Usual] = field(default_factory=dict)
    """UUID -> its clock of late. Since this process began: short-lived, as a setting may be."""
    looked_us: int = 0
    slots: Slots = field(default_factory=Slots)
    least_mhz: float = 0.0
    """Below it some GPU is slow by its own past."""
    rejoin: bool = False
    """Restored with the node's episode open: its GPUs are known with the next scrape."""

    def learn(self, here: Iterable[Reading], ts_us: int, limits: ThrottleLimits) -> None:
        """Look at the clocks once a minute. One that is low by its own past is not learned."""
        for reading in here:
            clock = reading.clock
            if clock is None or clock <= 0.0 or reading.active is None or reading.active <= limits.active:
                continue
            usual = self.usual.get(reading.uuid)
            if not is_free(reading) or (usual is not None and clock < limits.fine * usual.mhz):
                continue
            if usual is not None:
                usual.mhz += WEIGHT * (clock - usual.mhz)
                usual.for_us += min(ts_us - self.looked_us, 2 * LEARN_US)
            else:
                if len(self.usual) >= MOST_PARTS:
                    self.usual.clear()
                self.usual[reading.uuid] = Usual(clock)
        self.looked_us = ts_us
        known = [u.mhz for u in self.usual.values() if u.for_us >= limits.own_us]
        self.least_mhz = limits.fine * min(known, default=0.0)

    def usual_mhz(self, uuid: str, limits: ThrottleLimits) -> float | None:
        """None: not known well enough."""
        usual = self.usual.get(uuid)
        return usual.mhz if usual is not None and usual.for_us >= limits.own_us else None

    def part(self, uuid: str) -> Part:
        """The part of that GPU, made if need be; those that nothing depends on go when there are too many."""
        found = self.parts.get(uuid)
        if found is None:
            if len(self.parts) >= MOST_PARTS:
                self.parts = {u: p for u, p in self.parts.items() if u in self.episodes.open}
            found = self.parts[uuid] = Part()
        return found


@dataclass(slots=True)
class Judged:
    """One GPU that was at work in this scrape."""

    reading: Reading
    part: Part
    pace: Pace
    before: GpuScrape | None
    """The scrape before, of the same source."""

    def why(self) -> Why:
        """What holds it down now."""
        return why(self.part.held, self.reading.knows_bits)
