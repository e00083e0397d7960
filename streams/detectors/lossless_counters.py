"""Which counters show a loss where nothing may be lost, and which priority a column speaks of."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast

Root = Literal["headroom", "queue", "pfc_watchdog"]
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


def loss_column(name: str) -> LossColumn | None:
    """`queue_drop_packets.3` -> the counter and its priority; None: not judged, or of no known priority."""
    base, _, index = name.partition(".")
    counter = loss_counters().get(base)
    if counter is None:
        return None
    if counter.scope == "infiniband":
        return None if index else LossColumn(name, counter, None)
    return LossColumn(name, counter, int(index)) if index.isdigit() else None


def priority_of(name: str, base: str) -> int | None:
    """The priority of a column of counter `base`; None where it is another counter or has no number."""
    head, _, index = name.partition(".")
    return int(index) if head == base and index.isdigit() else None
