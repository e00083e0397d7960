"""What the beats of a process add up to, for its own /metrics."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from collectors.contract.beat import Beat

FORGET_S = 300.0
FORGET_INTERVALS = 10.0
"""A target without a beat for so long, the longer of both, is one no more."""


@dataclass(slots=True)
class Seen:
    """The last beat of one target."""

    ok: bool
    at_s: float
    keep_s: float


@dataclass(slots=True)
class SourceSweeps:
    """Sums over one source's sweeps."""

    good: int = 0
    failed: int = 0
    seconds: float = 0.0
    messages: int = 0
    samples: int = 0
    bytes: int = 0
    targets: dict[str, Seen] = field(default_factory=dict)


@dataclass(slots=True)
class Sweeps:
    """By source."""

    now_s: Callable[[], float] = time.monotonic
    sources: dict[str, SourceSweeps] = field(default_factory=dict)

    def count(self, beat: Beat) -> None:
        """Add one sweep."""
        sums = self.sources.setdefault(beat.source, SourceSweeps())
        sums.good += beat.ok
        sums.failed += not beat.ok
        sums.seconds += beat.seconds
        sums.messages += beat.messages
        sums.samples += beat.samples
        sums.bytes += beat.bytes
        keep_s = max(FORGET_S, FORGET_INTERVALS * (beat.interval_s or 0.0))
        sums.targets[beat.target or beat.collector] = Seen(beat.ok, self.now_s(), keep_s)

    def targets(self, source: str) -> tuple[int, int]:
        """Targets of a source whose last sweep was good, and failed. Those that fell silent are forgotten."""
        found, now_s = self.sources[source].targets, self.now_s()
        for name in [name for name, seen in found.items() if now_s - seen.at_s > seen.keep_s]:
            del found[name]
        good = sum(seen.ok for seen in found.values())
        return good, len(found) - good
