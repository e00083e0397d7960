"""What the pause detector remembers of one device."""

from dataclasses import dataclass, field
from functools import partial

from msgspec import Struct
from msgspec import field as kept_field

from streams.counter_columns import Ledger
from streams.detectors.fabric_pause_columns import Direction
from streams.episodes import Episodes

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


class PauseKept(Struct):
    """What outlives the process: it changes while a storm is seen, and when something opens or closes."""

    storms: dict[str, Storm] = kept_field(default_factory=dict)
    pressed: dict[str, Where] = kept_field(default_factory=dict)
    """The places of open records, by the names of `episodes`."""
    episodes: Episodes = kept_field(default_factory=Episodes)
    edge_us: int = 0
    """Time of the scrape that brought the last edge: older ones, read again, bring none."""


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
class PauseState:
    """All of one device."""

    kept: PauseKept = field(default_factory=PauseKept)
    ledger: Ledger = field(default_factory=partial(Ledger, rates=True))
    held: dict[Where, Held] = field(default_factory=dict)
    muted_us: int = 0
    """After a restore: scrapes before it only rebuild what was read."""
