"""How often something reports, learned from its own gaps."""

from typing import Protocol

from msgspec import Struct, field


class Learning(Protocol):
    """The limits by which an interval is learned."""

    @property
    def gaps(self) -> int:
        """Gaps remembered."""

    @property
    def learned(self) -> int:
        """Gaps that make an interval."""


class Rhythm(Struct):
    """The last gaps between reports, microseconds."""

    gaps: list[int] = field(default_factory=list)

    def learn(self, limits: Learning, gap_us: int) -> None:
        """Add a gap."""
        self.gaps.append(gap_us)
        if len(self.gaps) > limits.gaps:
            del self.gaps[0]

    def interval_us(self, limits: Learning) -> int | None:
        """The interval; None: not learned yet."""
        return sorted(self.gaps)[-2] if len(self.gaps) >= limits.learned else None
