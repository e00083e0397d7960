"""What the lossless-drop detector remembers of one device."""

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec import field as kept_field

from streams.counter_columns import Ledger
from streams.counters import Past
from streams.episodes import Episodes


class Loss(Struct):
    """One open episode: the columns that grew, and how much each lost."""

    port: str
    priority: int | None
    lost: dict[str, int | float] = kept_field(default_factory=dict)
    last: dict[str, Past] = kept_field(default_factory=dict)
    """Column -> where it stood at its last growth, or at its restart, which proves nothing."""

    def end_us(self, hold_us: int) -> int:
        """When it is over, if nothing grows."""
        return max(past.ts_us for past in self.last.values()) + hold_us


class LossKept(Struct):
    """What outlives the process: it changes when something is lost, opens or closes."""

    losses: dict[str, Loss] = kept_field(default_factory=dict)
    """`port/priority` -> loss; the names of `episodes`."""
    episodes: Episodes = kept_field(default_factory=Episodes)
    learned: list[int] = kept_field(default_factory=list)
    """Priorities on which the device sent PFC."""
    edge_us: int = 0
    """Time of the scrape that brought the last edge: older ones, read again, bring none."""


@dataclass(slots=True)
class LosslessState:
    """All of one device."""

    kept: LossKept = field(default_factory=LossKept)
    ledger: Ledger = field(default_factory=Ledger)
    """Loss counters, and those of storms and of links that went down."""
    storms: dict[tuple[str, int], int] = field(default_factory=dict)
    """Port and priority -> when a watchdog storm was last seen."""
    down: set[str] = field(default_factory=set)
    """InfiniBand ports that were not up at the last look."""
    muted_us: int = 0
    """After a restore: scrapes before it only rebuild what was read."""
