"""What is remembered of a node's links."""

from collections import deque
from dataclasses import dataclass, field

from collectors.contract.gpu import GpuScrape
from streams.counters import Past
from streams.detectors.links_limits import LinkLimits
from streams.episodes import Episodes
from streams.successors import Slots

MOST = 512
"""Parts in trouble, of one source; lines of the kernel log that are known again."""
MOST_PASTS = 16384
"""Counters of one source: 8 GPUs and 4 switches with 64 links each stay below it."""
RECENT = 8
BRIM = 1.5
"""A bucket holds no more, so that a storm is forgotten as soon as a trickle."""

ALL = "all"
"""The owner of what a node's GPUs have in common."""
Owner = str
"""A GPU's UUID, or `node/switch`."""


@dataclass(slots=True)
class Part:
    """One word on one owner. Counts are scrapes in a row; those that cannot tell count for nothing."""

    levels: dict[str, float] = field(default_factory=dict)
    """Sort of error -> how full its bucket is; 1 is full."""
    streaks: dict[str, int] = field(default_factory=dict)
    """Sort of error -> scrapes in a row with certainly too many."""
    recent: deque[tuple[int, str, float, int]] = field(default_factory=lambda: deque(maxlen=RECENT))
    """(time, sort, errors, over so long) of the scrapes with errors."""
    links: dict[str, float] = field(default_factory=dict)
    """Link -> errors, where single links are told."""
    bad: int = 0
    fine: int = 0
    fine_from_us: int = 0
    with_node: bool = False
    """It belongs to the episode of the node."""

    @property
    def full(self) -> bool:
        """Are there too many errors, for too long?"""
        return any(level >= 1.0 for level in self.levels.values())

    def fill(self, sort: str, share: float) -> None:
        """Errors beyond those allowed; below 0: fewer than allowed."""
        level = self.levels.get(sort, 0.0) + share
        if level > 0.0:
            self.levels[sort] = min(level, BRIM)
        else:
            self.levels.pop(sort, None)

    def well(self, ts_us: int) -> None:
        """A good scrape."""
        self.bad = 0
        self.fine_from_us = min(self.fine_from_us, ts_us) if self.fine else ts_us
        self.fine += 1

    def ill(self) -> None:
        """A bad one."""
        self.bad += 1
        self.fine = 0

    def is_over(self, now_us: int, least: int, for_us: int) -> bool:
        """Has it been well for long enough?"""
        return self.fine >= least and now_us - self.fine_from_us >= for_us


@dataclass(slots=True)
class Voice:
    """What one source has told."""

    last: GpuScrape | None = None
    known: dict[tuple[Owner, str], Past] = field(default_factory=dict)
    """(owner, or owner and link; counter) -> where it stood."""
    parts: dict[tuple[Owner, str], Part] = field(default_factory=dict)
    best: dict[tuple[Owner, str], float] = field(default_factory=dict)
    """The most links and the highest generation and width that a part has shown."""
    narrow: bool = False
    """Something stands below its best: worth a look at every scrape."""

    def restart(self) -> None:
        """A new clock: nothing of before can be compared with."""
        self.known, self.parts, self.narrow = {}, {}, False

    def part(self, owner: Owner, word: str) -> Part:
        """Made if need be; the oldest go when there are too many."""
        found = self.parts.get((owner, word))
        if found is None:
            if len(self.parts) >= MOST:
                del self.parts[next(iter(self.parts))]
            found = self.parts[owner, word] = Part()
        return found

    def reached(self, owner: Owner, what: str, value: float) -> float:
        """The best that this part has shown, now included."""
        if len(self.best) >= MOST_PASTS:
            self.best.clear()
        best = self.best[owner, what] = max(value, self.best.get((owner, what), value))
        return best


@dataclass(slots=True)
class LinkState:
    """One node. Only the episodes outlive the process."""

    episodes: Episodes = field(default_factory=Episodes)
    voices: dict[str, Voice] = field(default_factory=dict)
    """Source -> what it told."""
    slots: Slots = field(default_factory=Slots)
    lines: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=MOST))
    """Lines of the kernel log that were counted: a repeated one is not."""


def part_ways(voice: Voice, word: str) -> None:
    """The node has no episode of this word any more."""
    for (_, its), part in voice.parts.items():
        if its == word:
            part.with_node = False


def allowance(sort: str, per_minute: float, limits: LinkLimits) -> tuple[float, float]:
    """(errors allowed a second, errors that fill the bucket) of a sort."""
    if per_minute == 0.0:
        return 1.0 / 3600.0, 1.0
    if sort == "nvlink_recovery":
        return limits.recoveries_per_hour / 3600.0, limits.recoveries
    per_s = per_minute / 60.0
    return per_s, per_s * limits.fill_us / 1e6
