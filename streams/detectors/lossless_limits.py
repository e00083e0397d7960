"""The numbers behind the lossless-drop verdicts."""

from dataclasses import dataclass, field

from streams.episodes import Damping


@dataclass(frozen=True, slots=True, kw_only=True)
class LosslessLimits:
    """Limits of `LosslessDropDetector`."""

    priorities: frozenset[int] = frozenset({3})
    """Lossless where the port does not say: the RoCE default of most switches and hosts."""
    learn: bool = True
    """A device that sends PFC on a priority treats it as lossless, whatever the default."""
    devices: dict[str, frozenset[int]] = field(default_factory=dict)
    """Device -> its lossless priorities, and no others: the site's word, above what is told or learned."""
    hold_us: int = 600_000_000
    """An episode stays open so long after the last growth (our choice; damping after a loss, never before it)."""
    storm_us: int = 20_000_000
    """A watchdog storm explains drops so long after it was seen: detection and restoration of at most 3.2 s each
    (SONiC pfcwd defaults at 512 ports) and one 10 s sample."""
    gap_us: int = 600_000_000
    """A window longer than this is told as a gap (our choice)."""
    most: int = 1024
    """Open losses of one device that are followed (our choice)."""
    damping: Damping = field(default_factory=lambda: Damping(growth=10.0, least_us=300_000_000))
    """An open episode speaks again when ten times as much is lost, at most every five minutes
    (our choice)."""
