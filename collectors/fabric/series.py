"""Which row and column a value belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from collectors.fabric.vocabulary import Counter

DEVICE_ROW = "device"
"""The row of what belongs to the whole device."""
PART_PREFIXES = ("component:", "pool:", "voq:")
"""Rows of parts that are no ports."""


@dataclass(frozen=True, slots=True)
class Every:
    """How often a value is sent and renewed. None: only when it changes, or not known."""

    sent_us: int | None = None
    refresh_us: int | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One value that a device sends again and again. Two byte forms of one path are equal here."""

    row: str
    """A port; `component:NAME` for another part; `DEVICE_ROW` for the whole."""
    native: str
    """The source's own name, with the list keys that `row` does not hold."""
    index: str | None = None
    counter: Counter | None = field(default=None, compare=False)
    every: Every = field(default=Every(), compare=False)

    @property
    def column(self) -> str:
        """`pfc_rx_frames.3` where a counter stands for it; else the native name."""
        if self.counter is None or self.counter.ignored:
            return self.native if self.index is None else f"{self.native}.{self.index}"
        return self.canonical

    @property
    def canonical(self) -> str:
        """The canonical name with its index. Only where a counter stands for it."""
        if self.counter is None:
            raise ValueError(f"{self.native} has no counter")
        return self.counter.canonical if self.index is None else f"{self.counter.canonical}.{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What no device says of itself: which priorities are lossless, and which number a queue name stands for."""

    lossless: tuple[int, ...] | None = None
    queues: Mapping[str, str] = field(default_factory=dict)
