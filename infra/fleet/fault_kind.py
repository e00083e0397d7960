"""What a kind of fault is: where it strikes, how large it may be, which words are right for it."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast

TargetKind = Literal["gpu", "node", "port", "job", "stage", "rack", "switch", "fleet"]
Bound = Literal["scrapes", "steps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """One kind of fault: where it strikes, what `size` means, and which cause words are right for it."""

    target: TargetKind
    size: float
    """Default size."""
    low: float
    high: float
    meaning: str
    """Of the size, with its unit."""
    expect: tuple[str, ...]
    """The words of the detectors; a scenario may name others."""
    detector: str
    """The detector that is answerable for it in the scoreboard."""
    page: bool
    per_second: bool
    """`size` is a rate of single events."""
    kills: bool
    """It stops a whole job, or its reports: every rank of it is held up."""
    silences: bool
    """Collectors of a node fall silent by it."""
    bound: Bound | None
    """What the delay of its page is counted in, besides seconds. Throttling takes three windows to be one (heat,
    and a rule of three), whatever the interval: it is counted in neither."""


@cache
def kinds() -> dict[str, FaultKind]:
    """Every kind by its name: `fault_kinds.csv`."""
    with (Path(__file__).parent / "fault_kinds.csv").open(newline="") as file:
        return {
            row["kind"]: FaultKind(
                target=cast(TargetKind, row["target"]),
                size=float(row["size"]),
                low=float(row["low"]),
                high=float(row["high"]),
                meaning=row["meaning"],
                expect=tuple(row["expect"].split()),
                detector=row["detector"],
                page=row["page"] == "yes",
                per_second=row["per_second"] == "yes",
                kills=row["kills"] == "yes",
                silences=row["silences"] == "yes",
                bound=cast(Bound, row["bound"]) if row["bound"] else None,
            )
            for row in csv.DictReader(file)
        }
