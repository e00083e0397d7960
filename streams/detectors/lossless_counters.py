"""Which counters show a loss where nothing may be lost, and which priority a column speaks of."""

import csv
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, cast

from streams.detectors.fabric_ports import split

Root = Literal["headroom", "queue", "pfc_watchdog", "credits", "input"]
Scope = Literal["priority", "watchdog", "infiniband"]


@dataclass(frozen=True, slots=True)
class LossCounter:
    """One canonical counter. `scope` priority: judged on lossless priorities; watchdog: the watchdog runs only on
    those; infiniband: every lane of such a port is lossless by its credits."""

    name: str
    unit: str
    root: Root
    scope: Scope


@dataclass(frozen=True, slots=True)
class LossColumn:
    """A column of a scrape that is judged."""

    name: str
    counter: LossCounter
    priority: int | None


@cache
def loss_counters() -> dict[str, LossCounter]:
    """Canonical name -> counter, from the table beside this file."""
    path = Path(__file__).parent / "data" / "lossless_counters.csv"
    with path.open(newline="") as lines:
        return {
            row["counter"]: LossCounter(row["counter"], row["unit"], cast(Root, row["root"]), cast(Scope, row["scope"]))
            for row in csv.DictReader(lines)
        }


@lru_cache(maxsize=65536)
def loss_column(name: str) -> LossColumn | None:
    """`queue_drop_packets.3` -> the counter and its priority; None: not judged, or of no known priority."""
    base, index = split(name)
    counter = loss_counters().get(base)
    if counter is None or (counter.scope == "infiniband") != (index is None):
        return None
    return LossColumn(name, counter, index)


def priority_of(name: str, base: str) -> int | None:
    """The priority of a column of counter `base`; None where it is another counter or has no number."""
    head, index = split(name)
    return index if head == base else None
