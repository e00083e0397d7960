"""The numbers behind the silence verdicts."""

from dataclasses import dataclass

MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceLimits:
    """Limits of `SilenceDetector`."""

    intervals: float = 3.0
    """A part is silent after so many of its own intervals ..."""
    least_us: int = 30_000_000
    """... and no sooner: a scrape that timed out twice is not silence."""
    unlearned_us: int = 5 * MINUTE_US
    """Before an interval is learned."""
    gaps: int = 15
    """Gaps remembered, of which the second longest is the interval: one outage teaches nothing, two sources that
    report in turn do."""
    learned: int = 6
    """Gaps that make an interval: three sources that report one after the other show their pause twice."""
    keep_every_us: int = MINUTE_US
    """How far the durable last word may lag behind."""
    forgotten_us: int = 7 * 24 * 60 * MINUTE_US
    """A part silent for so long is retired and watched no more; its episode stays as it was told."""
