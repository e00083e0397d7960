"""The numbers behind the verdicts on RDMA transport."""

from dataclasses import dataclass, field

from streams.episodes import Damping


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportLimits:
    """Limits of `TransportDetector`."""

    window_us: int = 60_000_000
    """Over which a rate is taken (our choice)."""
    least_per_minute: float = 10.0
    """Fewer are no sign of anything (our choice)."""
    times_baseline: float = 5.0
    """So many times the port's own usual rate (our choice)."""
    memory_us: int = 3_600_000_000
    """Half-life of what is usual (our choice)."""
    off: float = 0.5
    """A record ends below this share of the limit it opened at ... (our choice)"""
    calm_us: int = 300_000_000
    """... for so long, with the counters read (our choice)."""
    lossy_drivers: frozenset[str] = frozenset({"efa"})
    """Drivers whose transport loses and repeats by design: AWS SRD sprays packets and hides their loss."""
    most: int = 1024
    """Ports of one device that are followed (our choice)."""
    damping: Damping = field(default_factory=lambda: Damping(growth=4.0, least_us=300_000_000))
    """An open record speaks again at four times the rate, at most every five minutes (our choice)."""
