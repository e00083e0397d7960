"""What the lossless-drop detector remembers of one device."""

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec import field as kept_field

from streams.counters import Past
from streams.detectors.fabric_detector import DeviceKept, DeviceState


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


class LossKept(DeviceKept):
    """What outlives the process: it changes when something is lost, opens or closes."""

    losses: dict[str, Loss] = kept_field(default_factory=dict)
    """`port/priority` -> loss; the names of `episodes`."""
    learned: list[int] = kept_field(default_factory=list)
    """Priorities on which the device sent PFC."""


@dataclass(slots=True)
class LosslessState(DeviceState[LossKept]):
    """All of one device."""

    kept: LossKept = field(default_factory=LossKept)
    """Loss counters, and those of storms and of links that went down."""
    storms: dict[tuple[str, int], int] = field(default_factory=dict)
    """Port and priority -> when a watchdog storm was last seen."""
    down: set[str] = field(default_factory=set)
    """InfiniBand ports that were not up at the last look."""
