"""Which counter counts what on a link, and how many links a model has."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"
_SORTS = {"CRC_FLIT": "nvlink_crc", "CRC_DATA": "nvlink_crc", "REPLAY": "nvlink_replay", "RECOVERY": "nvlink_recovery"}
_LANE = re.compile(r"DCGM_FI_DEV_NVLINK_(?P<sort>CRC_FLIT|CRC_DATA|REPLAY|RECOVERY)_ERROR_COUNT_L(?P<link>\d+)$")
"""dcgm_fields.h: a counter of one link, told as one of the GPU."""
GIGATRANSFERS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0, 7: 128.0}
"""PCIe base specification: per lane and second, by generation."""
STATE_OF_LINK, STATE_OF_PORT, RESET_REQUIRED = "1508", "870", "864"
STATES = frozenset((STATE_OF_LINK, STATE_OF_PORT, RESET_REQUIRED))
"""What tells of a link's state: NVLink of a GPU (0 inactive, 1 active), port of an NVSwitch (2 active, 3 error)."""


@dataclass(frozen=True, slots=True)
class Counter:
    """`way`: counters of one way add up; different ways count the same errors, and the largest sum is true."""

    sort: str
    way: str
    link: str | None = None


@cache
def counter(name: str) -> Counter | None:
    """By DCGM field id or metric name; None: it counts no errors of a link."""
    if (lane := _LANE.match(name)) is not None:
        return Counter(_SORTS[lane["sort"]], "lane", lane["link"])
    return _by_field().get(name)


def usual_nvlinks(model: str | None, here: dict[str, int]) -> int | None:
    """Links that a GPU of this model has in use; None: not in the table. `here` comes first."""
    rows = (*here.items(), *_by_model())
    return next((count for part, count in rows if model is not None and part in model), None)


def pcie_bits_per_s(generation: float, width: float) -> float | None:
    """Of the line in one direction; None: no such link."""
    rate = GIGATRANSFERS.get(int(generation))
    return rate * 1e9 * width if rate is not None and width > 0 else None


@cache
def _by_field() -> dict[str, Counter]:
    return {row["field"]: Counter(row["sort"], row["way"]) for row in _rows("link_counters.csv")}


@cache
def _by_model() -> tuple[tuple[str, int], ...]:
    return tuple((row["part_of_name"], int(row["nvlinks"])) for row in _rows("gpu_links.csv"))


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        yield from csv.DictReader(file)


PCIE_FIELDS = ("235", "236", "237", "238")
"""Highest generation and width, those in use."""
WATCHED = frozenset((*_by_field(), *PCIE_FIELDS))
"""Columns of a GPU that say something of its links."""
