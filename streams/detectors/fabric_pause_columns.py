"""Which counters tell of pause, in which direction, and how a ratio of time is made of them."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, cast

from streams.detectors.fabric_ports import split

Role = Literal["time", "quanta", "frames", "storm", "state", "moved"]
Direction = Literal["receives", "sends"]
"""Seen from the port that counts: it is held by its peer, or holds it."""

QUANTUM_BITS = 512
"""Bit times of one pause quantum (IEEE 802.3 annex 31B)."""
FULL_QUANTA = 65535
"""The longest pause that one frame can ask for: a 16-bit field."""


@dataclass(frozen=True, slots=True)
class PauseColumn:
    """A column. `us`: microseconds of one unit, of a time. `rank`: the least is the best of several."""

    name: str
    role: Role
    direction: Direction
    priority: int | None
    us: float
    rank: int

    def paused_us(self, delta: float, speed_gbps: float | None) -> float | None:
        """Time on hold: told, or for frames the most that they can have asked for; None: the speed is not known."""
        if self.role == "time":
            return delta * self.us
        if speed_gbps is None or speed_gbps <= 0:
            return None
        quanta = delta if self.role == "quanta" else delta * FULL_QUANTA
        return quanta * QUANTUM_BITS / (speed_gbps * 1e3)

    @property
    def is_bound(self) -> bool:
        """Frames say how long a port was held at most: the frame that ends a pause counts too."""
        return self.role == "frames"


@cache
def _rows() -> dict[str, tuple[Role, Direction, float, int]]:
    with (Path(__file__).parent / "data" / "fabric_pause_counters.csv").open(newline="") as lines:
        return {
            row["counter"]: (cast(Role, row["role"]), cast(Direction, row["direction"]), float(row["us"] or 0.0), rank)
            for rank, row in enumerate(csv.DictReader(lines))
        }


@lru_cache(maxsize=65536)
def pause_column(name: str) -> PauseColumn | None:
    """`pfc_rx_pause_us.3` -> what it tells; None: nothing of pause."""
    base, priority = split(name)
    row = _rows().get(base)
    return None if row is None else PauseColumn(name, row[0], row[1], priority, row[2], row[3])


def best_first(columns: Iterable[PauseColumn]) -> list[PauseColumn]:
    """Told times before guesses, guesses before bounds."""
    return sorted(columns, key=lambda column: column.rank)
