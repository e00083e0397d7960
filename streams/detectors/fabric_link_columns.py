"""Which counters tell of a link that spoils packets, and by what rule."""

import csv
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, cast

from streams.detectors.fabric_ports import split

Rule = Literal["growth", "symbol", "ratio", "state", "least", "most"]
"""growth, symbol, ratio: judged; state: the link itself came or went; least, most: told beside, of all lanes."""


@dataclass(frozen=True, slots=True)
class LinkColumn:
    """A column of a scrape."""

    name: str
    base: str
    rule: Rule
    unit: str


@cache
def _rows() -> dict[str, tuple[Rule, str]]:
    with (Path(__file__).parent / "data" / "fabric_link_counters.csv").open(newline="") as lines:
        return {row["counter"]: (cast(Rule, row["rule"]), row["unit"]) for row in csv.DictReader(lines)}


@lru_cache(maxsize=65536)
def link_column(name: str) -> LinkColumn | None:
    """What a column tells of a link; None: nothing. Lanes (`optic_rx_power.2`) only of what is told beside."""
    base, lane = split(name)
    row = _rows().get(base)
    if row is None or (lane is not None and row[0] not in ("least", "most")):
        return None
    return LinkColumn(name, base, *row)
