"""Every cause word that a detector may name: its weight as a cause, who acts, the runbook and the first action.

One table (`data/causes.csv`) for the correlator, the page, node health and the runbooks. A word that ends in a
code (`xid_48`) has the row of its family unless it has one of its own.
"""

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streams.contract import Severity

RUNBOOKS = "docs/runbooks"
FLEET_SILENCE = "fleet_silence"
_CODE = re.compile(r"_\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One row. `level`: precedence as a cause; below 50 a finding is an effect, at 0 it is a report only."""

    word: str
    level: int
    level_warning: int
    owner: str
    """`fleet`, `network`, `telemetry` or `job`: whose page it is."""
    runbook: str
    action: str

    def weight(self, severity: Severity) -> int:
        """Precedence of a finding with this cause and severity."""
        return self.level if severity == "critical" else self.level_warning


UNKNOWN = Cause(
    word="",
    level=52,
    level_warning=52,
    owner="fleet",
    runbook="general",
    action="look at the evidence and the part",
)
"""For a word without a row. A test holds that no detector of ours names one."""


@cache
def causes() -> dict[str, Cause]:
    """All rows by word."""
    with (Path(__file__).parent / "data" / "causes.csv").open(newline="") as lines:
        return {
            row["cause"]: Cause(
                word=row["cause"],
                level=int(row["level"]),
                level_warning=int(row["level_warning"]),
                owner=row["owner"],
                runbook=row["runbook"],
                action=row["action"],
            )
            for row in csv.DictReader(lines)
        }


@cache
def cause_row(word: str) -> Cause:
    """The row of a word, else of its family, else `UNKNOWN`."""
    known = causes()
    return known.get(word) or known.get(_CODE.sub("", word)) or UNKNOWN


def runbook(word: str) -> str:
    """The page for a cause, relative to the repository."""
    return f"{RUNBOOKS}/{cause_row(word).runbook}.md"
