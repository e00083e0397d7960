"""What the bad-link detector remembers of one device."""

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec import field as kept_field

from streams.counters import Change
from streams.detectors.fabric_detector import DeviceKept, DeviceState

MINUTE_US = 60_000_000


class Symbols(Struct):
    """Symbol errors of one port by minute."""

    ts_us: int = 0
    """Up to when they are counted."""
    minutes: dict[int, float] = kept_field(default_factory=dict)

    def add(self, change: Change, ts_us: int, keep_us: int) -> None:
        """Spread the growth evenly over the minutes of its window; forget what is older than `keep_us`."""
        if change.delta is None or ts_us <= self.ts_us:
            return
        self.ts_us = ts_us
        last = ts_us // MINUTE_US
        over = max(1, min(change.window_us, keep_us) // MINUTE_US)
        for minute in range(last - over + 1, last + 1):
            self.minutes[minute] = self.minutes.get(minute, 0.0) + change.delta / over
        oldest = last - keep_us // MINUTE_US
        self.minutes = {minute: count for minute, count in self.minutes.items() if minute > oldest}

    def within(self, ts_us: int, window_us: int) -> float:
        """How many in the window that ends now."""
        oldest = (ts_us - window_us) // MINUTE_US
        return sum(count for minute, count in self.minutes.items() if minute > oldest)

    def below_us(self, window_us: int, most: float) -> int:
        """From when on no more than `most` are in the window, if no more come."""
        left, end_us = sum(self.minutes.values()), 0
        for minute, count in sorted(self.minutes.items()):
            if left <= most:
                break
            left, end_us = left - count, minute * MINUTE_US + window_us
        return end_us


class Bad(Struct):
    """An open episode."""

    last_us: int
    """When an error was seen last."""
    errors: dict[str, float] = kept_field(default_factory=dict)
    """Column -> errors of the episode, or the worst ratio: each must have been read to the end of the clean time."""


class LinkKept(DeviceKept):
    """What outlives the process: it changes with symbol errors and errors of an open episode, and with edges."""

    bad: dict[str, Bad] = kept_field(default_factory=dict)
    """By port, as `episodes`."""
    symbols: dict[str, Symbols] = kept_field(default_factory=dict)


@dataclass(slots=True)
class Window:
    """The errors of one window, by column; empty: it was clean."""

    begun_us: int
    errors: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Recent:
    """The last windows of a port that had errors."""

    ts_us: int = 0
    windows: list[Window] = field(default_factory=list)

    def take(self, ts_us: int, errors: dict[str, float], window_us: int, most: int) -> bool:
        """Take one reading in; False: it is no news."""
        if ts_us <= self.ts_us:
            return False
        self.ts_us = ts_us
        if not self.windows or ts_us - self.windows[-1].begun_us >= window_us:
            self.windows.append(Window(ts_us))
            del self.windows[:-most]
        now = self.windows[-1].errors
        for name, count in errors.items():
            now[name] = now.get(name, 0.0) + count
        return True

    def bad(self) -> int:
        """How many windows had errors."""
        return sum(bool(window.errors) for window in self.windows)


@dataclass(slots=True)
class LinkState(DeviceState[LinkKept]):
    """All of one device."""

    kept: LinkKept = field(default_factory=LinkKept)
    recent: dict[str, Recent] = field(default_factory=dict)
