"""How often something reports, learned from its own gaps."""

from msgspec import Struct, field

from streams.detectors.silence_limits import SilenceLimits


class Rhythm(Struct):
    """The last gaps between reports, microseconds."""

    gaps: list[int] = field(default_factory=list)

    def learn(self, limits: SilenceLimits, gap_us: int) -> None:
        """Add a gap."""
        self.gaps.append(gap_us)
        if len(self.gaps) > limits.gaps:
            del self.gaps[0]

    def interval_us(self, limits: SilenceLimits) -> int | None:
        """The interval; None: not learned yet."""
        return sorted(self.gaps)[-2] if len(self.gaps) >= limits.learned else None
