"""What time it is in a log."""

from collectors.training_log.kept import Kept

LAST_US = 4_102_444_800_000_000
"""The end of this century, in Unix microseconds: printed durations that lead beyond it are none."""


class Clock:
    """A line's stamp; else the moment it came, where the log is followed; else by the durations that are printed."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self.timed = False
        """Whether the line that is read has a time of its own."""

    @property
    def now_us(self) -> int:
        """Unix microseconds."""
        return self._kept.clock_us

    def line(self, own_us: int | None) -> None:
        """Another line is read; None: nothing says when it was written."""
        self.timed = own_us is not None
        if own_us is not None:
            self._kept.clock_us = own_us

    def passed(self, seconds: float | None) -> None:
        """Something took so long, and no clock was read after it."""
        if not self.timed and seconds is not None:
            self._kept.clock_us = min(self._kept.clock_us + round(seconds * 1e6), LAST_US)

    def before_us(self, seconds: float) -> int:
        """When that began which ends now."""
        return max(0, self._kept.clock_us - round(seconds * 1e6))

    def since_s(self, then_us: int | None) -> float | None:
        """Seconds since a moment of this log; None where either end has no time of its own."""
        return None if then_us is None or not self.timed else max(0.0, (self._kept.clock_us - then_us) / 1e6)
