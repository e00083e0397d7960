"""What the pause detector remembers of one device."""

from dataclasses import dataclass, field
from functools import partial

from msgspec import Struct
from msgspec import field as kept_field

from streams.counter_columns import Ledger
from streams.detectors.fabric_detector import DeviceKept, DeviceState
from streams.detectors.fabric_pause_columns import Direction

Where = tuple[str, int | None, Direction]
"""Port, priority (None: the whole port), direction."""


class Storm(Struct):
    """An open storm."""

    port: str
    last_us: int
    """When it was seen last."""
    columns: list[str]
    """What showed it: each must have been read, and have stood still, to the end of the hold."""
    events: int = 0
    """As counted by the watchdog or the NIC."""


class PauseKept(DeviceKept):
    """What outlives the process: it changes while a storm is seen, and when something opens or closes."""

    storms: dict[str, Storm] = kept_field(default_factory=dict)
    pressed: dict[str, Where] = kept_field(default_factory=dict)
    """The places of open records, by the names of `episodes`."""


@dataclass(slots=True)
class Held:
    """A port that is on hold for part of its time, or was a short while ago."""

    ts_us: int = 0
    """The last window's end."""
    ratio: float = 0.0
    column: str = ""
    stuck: int = 0
    """Windows in a row nearly all on hold with nothing moved."""
    high_since_us: int | None = None
    """Since when its ratio is over the limit without a break."""
    low_since_us: int | None = None
    """Since when its ratio is below the end."""


@dataclass(slots=True)
class PauseState(DeviceState[PauseKept]):
    """All of one device."""

    kept: PauseKept = field(default_factory=PauseKept)
    ledger: Ledger = field(default_factory=partial(Ledger, rates=True))
    held: dict[Where, Held] = field(default_factory=dict)
