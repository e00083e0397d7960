"""How many points a cause takes off a node's health, and when it is a hard fault."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streams.causes import cause_row
from streams.contract import Severity

HARD = 100.0
"""All points: a hard fault, for as long as it lasts."""
BROKEN = 90
"""Level of a cause from which it is hard where the table says nothing."""
EFFECT = 50
"""Level below which a cause is an effect of something else, which weighs nothing."""
_CODE = re.compile(r"_\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """One row of `data/health_points.csv`."""

    critical: float
    warning: float
    needs_fabric: bool = False
    """Hard only on a node whose GPUs need their fabric."""

    def of(self, severity: Severity) -> float:
        """Points by severity; what is information weighs nothing."""
        return {"critical": self.critical, "warning": self.warning, "info": 0.0}[severity]


@cache
def table() -> dict[str, Points]:
    """All rows by cause word."""
    with (Path(__file__).parent / "data" / "health_points.csv").open(newline="") as lines:
        return {
            row["cause"]: Points(
                critical=float(row["critical"]),
                warning=float(row["warning"]),
                needs_fabric=row["needs_fabric"] == "1",
            )
            for row in csv.DictReader(lines)
        }


def points_of(cause: str, given: Mapping[str, float], other: float) -> Points:
    """By the limits file, the table, the table's family, else the level of the cause. `other`: of a soft fault."""
    if cause in given:
        return Points(critical=given[cause], warning=given[cause])
    known = table().get(cause) or table().get(_CODE.sub("", cause))
    if known is not None:
        return known
    row = cause_row(cause)
    if row.owner in ("telemetry", "job"):
        return Points(critical=0.0, warning=0.0)
    by_level = [HARD if n >= BROKEN else other if n >= EFFECT else 0.0 for n in (row.level, row.level_warning)]
    return Points(critical=by_level[0], warning=by_level[1])
