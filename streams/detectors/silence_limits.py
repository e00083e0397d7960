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
    step_gap: float = 5.0
    """A job hangs after so many of its step times (EROICA), ..."""
    step_least_us: int = MINUTE_US
    step_most_us: int = 10 * MINUTE_US
    """... within these."""
    step_memory: float = 0.1
    """Weight of the newest step time in the mean."""
    checkpoint: float = 3.0
    """While it saves: so many of its own longest checkpoints, ..."""
    checkpoint_us: int = 45 * MINUTE_US
    """... or this before the first; also what a start may take."""
    unannounced: float = 1.5
    """A job may save without a word: so many of its longest checkpoints are never a hang."""
    heartbeat_us: int = 90_000_000
    """Three heartbeats of 30 s: older ones no longer show that the processes live."""
    ended_grace_us: int = 10 * MINUTE_US
    """Reports of an attempt that ended so recently are its last words, not a new life."""
    ended_us: int = 60 * MINUTE_US
    """So long after its end nothing of a job is remembered."""
