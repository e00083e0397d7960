"""What the flap detector remembers of one device or host."""

import math
from bisect import insort
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec import field as kept_field

from streams.detectors.fabric_detector import DeviceKept, DeviceState
from streams.detectors.fabric_flap_limits import LinkFlapLimits

MOST_TIMES = 32
"""Flaps remembered of a port, or as many as the limits ask for."""


class Flaps(Struct):
    """The downs of one port."""

    times: list[int] = kept_field(default_factory=list)
    """When it went down, as far as told; the last ones, in order."""
    part: float = 0.0
    """Half a flap: one of two transitions."""
    counted_us: int = 0
    """The last scrape that brought any."""
    down: bool = False
    told_us: int = 0
    """When it was last said to go down or to come up."""
    last_us: int = 0
    """When it went down last, or came up after that."""
    by_counter: bool = False
    """A counter of the port tells of flaps: without it a port that is up may have flapped."""
    by_log: bool = False
    """The kernel's log says so, not the port's own counters."""

    def add(self, ts_us: int, flaps: float, limits: LinkFlapLimits) -> None:
        """Count flaps that were seen at a time."""
        most = max(MOST_TIMES, limits.short_flaps, limits.long_flaps)
        self.part += flaps
        for _ in range(min(int(self.part), most)):
            insort(self.times, ts_us)
        self.part -= int(self.part)
        del self.times[:-most]
        self.last_us = max(self.last_us, ts_us)

    def say(self, ts_us: int, down: bool) -> None:
        """The port went down or came up; an older word changes nothing."""
        if ts_us >= self.told_us:
            self.down, self.told_us = down, ts_us
            self.last_us = max(self.last_us, ts_us)

    def within(self, ts_us: int, window_us: int) -> int:
        """Flaps in the window that ends now."""
        return sum(ts_us - window_us < t <= ts_us for t in self.times)

    def is_flapping(self, ts_us: int, limits: LinkFlapLimits) -> bool:
        """Did it go down too often?"""
        return (
            self.within(ts_us, limits.short_us) >= limits.short_flaps
            or self.within(ts_us, limits.long_us) >= limits.long_flaps
        )

    def over_us(self, limits: LinkFlapLimits, flapping: bool) -> int:
        """When it is over, if it stays up."""
        settled_us = self.last_us + limits.settle_us
        if not flapping or not self.times:
            return settled_us
        last = self.times[-1]
        penalty = sum(limits.flap_penalty * 2.0 ** ((t - last) / limits.decay_half_life_us) for t in self.times)
        halvings = math.log2(penalty / limits.reuse_threshold) if penalty > limits.reuse_threshold else 0.0
        return max(settled_us, last + min(limits.max_suppress_us, int(halvings * limits.decay_half_life_us)))


class FlapKept(DeviceKept):
    """What outlives the process: it changes when a link goes down or comes back, and with edges."""

    links: dict[str, Flaps] = kept_field(default_factory=dict)
    """By port, as `episodes`."""


@dataclass(slots=True)
class Seen:
    """A port as its scrapes told of it last."""

    ts_us: int
    up: bool | None
    counted: bool
    """Its own counter or state tells of flaps."""


@dataclass(slots=True)
class FlapState(DeviceState[FlapKept]):
    """All of one device or host."""

    kept: FlapKept = field(default_factory=FlapKept)
    seen: dict[str, Seen] = field(default_factory=dict)
