"""What the beats of a process add up to, for its own /metrics."""

from dataclasses import dataclass, field

from collectors.contract.beat import Beat


@dataclass(slots=True)
class SourceSweeps:
    """Sums over one source's sweeps."""

    good: int = 0
    failed: int = 0
    seconds: float = 0.0
    messages: int = 0
    samples: int = 0


@dataclass(slots=True)
class Sweeps:
    """By source."""

    sources: dict[str, SourceSweeps] = field(default_factory=dict)

    def count(self, beat: Beat) -> None:
        """Add one sweep."""
        sums = self.sources.setdefault(beat.source, SourceSweeps())
        sums.good += beat.ok
        sums.failed += not beat.ok
        sums.seconds += beat.seconds
        sums.messages += beat.messages
        sums.samples += beat.samples
