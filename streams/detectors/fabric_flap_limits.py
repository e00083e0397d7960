"""The numbers behind the verdicts on links that go down. Terms as in OpenConfig's `penalty-based-aied`."""

from dataclasses import dataclass, field

from streams.episodes import Damping


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFlapLimits:
    """Limits of `LinkFlapDetector`."""

    short_flaps: int = 2
    """So many flaps ..."""
    short_us: int = 600_000_000
    """... in so long are a flapping link (our choice), ..."""
    long_flaps: int = 4
    """... or so many ..."""
    long_us: int = 86_400_000_000
    """... in so long (our choice)."""
    settle_us: int = 600_000_000
    """A link that came back must stay up for so long: a second flap in that time is the same fault (our choice)."""
    flap_penalty: float = 1000.0
    """Each flap adds so much to the link's penalty, ..."""
    decay_half_life_us: int = 900_000_000
    """... half of which is left after so long. A flapping link is over ..."""
    reuse_threshold: float = 750.0
    """... when its penalty is below this (1000, 15 minutes and 750: the usual defaults of routers' damping after
    RFC 2439), ..."""
    max_suppress_us: int = 3_600_000_000
    """... and at the latest so long after its last flap (the same defaults)."""
    other_source_us: int = 300_000_000
    """A line of the kernel's log is not counted where the NIC's own counters were read within this time: it is the
    same flap (our choice)."""
    most: int = 4096
    """Ports of one device that are followed (our choice)."""
    damping: Damping = field(default_factory=lambda: Damping(growth=2.0, least_us=600_000_000))
    """An open episode speaks again at twice as many flaps, at most every ten minutes (our choice)."""
