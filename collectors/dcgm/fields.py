"""DCGM's fields: ids, the names that a page may give them, and where a value means "blank"."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

INT32_BLANK = 2147483632.0
FP64_BLANK = 140737488355328.0
INT64_BLANK = 9223372036854775792
"""First of the four sentinels of a type: blank, not found, not supported, not permitted (DCGM, dcgm_structs.h).
Larger values of that type are blank too."""

SENTINELS = frozenset(base + n for base in (INT32_BLANK, FP64_BLANK) for n in range(4))

_WIDE_UNITS = frozenset({"bitmask", "bitmap", "raw", "int", "vendor units", "speed", "text"})


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `blank_from`: a value so large cannot be a reading of it."""

    id: str
    name: str
    unit: str
    kind: str
    blank_from: float


@cache
def fields_by_name() -> dict[str, Field]:
    """Every name of every field: as exporter users know it, as DCGM 4.6 and exporters 1.x print it."""
    known = {row["id"]: _field(row) for row in _rows("fields.csv")}
    out = {field.name: field for field in known.values()}
    for row in _rows("other_names.csv"):
        field = known.get(row["id"]) or _field({**row, "unit": "raw", "kind": "counter"})
        out[row["name"]] = field
    return out


RENAMED = {"DCGM_FI_EXP_CLOCK_THROTTLE_REASONS_COUNT": "DCGM_EXP_CLOCK_EVENTS_COUNT"}
"""Metrics without a field id that exporters called otherwise (dcgm-exporter #254, #261)."""


def field_of(name: str) -> Field | None:
    """The field that a metric stands for; None: no DCGM field. The old namespace prints names in lower case.

    OpenMetrics puts `_total` behind the name of each counter.
    """
    known = fields_by_name()
    found = known.get(name) or (known.get(name.upper()) if name.startswith("dcgm_fi_") else None)
    if found is None and name.endswith("_total") and name.startswith(_OURS):
        return field_of(name.removesuffix("_total"))
    return found


def plain_name(name: str) -> str:
    """The one name of a metric without a field id."""
    if name.startswith(_OURS):
        name = name.removesuffix("_total")
    return RENAMED.get(name, name)


_OURS = ("DCGM_", "dcgm_")


def _field(row: dict[str, str]) -> Field:
    return Field(row["id"], row["name"], row["unit"], row["kind"], _blank_from(row["kind"], row["unit"]))


def _blank_from(kind: str, unit: str) -> float:
    """Counters and bit sets are 64 bits wide; rates are doubles; no other gauge comes near 2^31 in its unit."""
    if kind == "counter" or unit in _WIDE_UNITS:
        return INT64_BLANK
    return FP64_BLANK if unit.endswith("/s") else INT32_BLANK


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (Path(__file__).parent / name).open(newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))
