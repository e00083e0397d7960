"""The numbers behind the verdicts on counters that say nothing more."""

from dataclasses import dataclass, field

from streams.episodes import Damping


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterBlindLimits:
    """Limits of `CounterBlindDetector`."""

    stale_intervals: float = 3.0
    """A counter that was read before and is not for more than so many of its own intervals is missing (our choice)."""
    named: int = 5
    """Counters that a finding names; of the others it tells the number (our choice)."""
    most: int = 1024
    """Blind counters of one device that are followed (our choice)."""
    damping: Damping = field(default_factory=lambda: Damping(growth=2.0, least_us=3_600_000_000))
    """An open finding speaks again at twice as many counters, at most every hour (our choice)."""
