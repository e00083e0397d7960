"""How good each detector is over any number of scenarios: counted over the scoreboards."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from infra.fleet.fault import KINDS
from infra.scoreboard import Scoreboard

TOTAL = "total"


@dataclass(slots=True, kw_only=True)
class DetectorScore:
    """Faults that must be paged, what became of them, and what was paged without one."""

    name: str
    faults: int = 0
    found: int = 0
    told: int = 0
    """Faults whose own part was told of, with whatever cause."""
    right: int = 0
    """... with a right one."""
    false_pages: int = 0
    pages: int = 0
    """All incidents that the faults brought about."""
    paged: int = 0
    """Faults that brought about any."""
    delays_s: list[float] = field(default_factory=list)
    """But of faults that come and go: their words need several days, or several times."""
    delays_intervals: list[float] = field(default_factory=list)
    delays_steps: list[float] = field(default_factory=list)

    @property
    def precision(self) -> float | None:
        """Of what it paged; None: it paged nothing."""
        paged = self.found + self.false_pages
        return self.found / paged if paged else None

    @property
    def recall(self) -> float | None:
        """Of its faults; None: there were none."""
        return self.found / self.faults if self.faults else None

    @property
    def cause_right(self) -> float | None:
        """Of the faults whose part was told of; None: of none."""
        return self.right / self.told if self.told else None

    @property
    def pages_per_fault(self) -> float | None:
        """Of the faults that were paged at all; None: none was."""
        return self.pages / self.paged if self.paged else None

    def delay_s(self, share: float) -> float | None:
        """The delay that this share of the found faults stayed within; None: none was found."""
        return quantile(self.delays_s, share)


def quantile(values: Sequence[float], share: float) -> float | None:
    """Between the two nearest values by place; None: no values."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def by_detector(boards: Iterable[Scoreboard]) -> list[DetectorScore]:
    """Recall counts a fault to the detector that is answerable for it, precision a page to the one that spoke."""
    out: dict[str, DetectorScore] = {}
    for board in boards:
        _add(board, out)
    return sorted(out.values(), key=lambda score: score.name)


def total(boards: Iterable[Scoreboard]) -> DetectorScore:
    """All detectors as one."""
    out = {TOTAL: DetectorScore(name=TOTAL)}
    for board in boards:
        _add(board, out, TOTAL)
    return out[TOTAL]


def _add(board: Scoreboard, out: dict[str, DetectorScore], only: str | None = None) -> None:
    for verdict in board.verdicts:
        if not verdict.counts:
            continue
        name = only or KINDS[verdict.fault.kind].detector
        score = out.setdefault(name, DetectorScore(name=name))
        score.faults += 1
        score.found += verdict.found
        score.told += verdict.cause is not None
        score.right += verdict.cause_right
        score.pages += len(verdict.pages)
        score.paged += bool(verdict.pages)
        if not verdict.found:
            continue
        if verdict.delay_s is not None and verdict.fault.every_s == math.inf:
            score.delays_s.append(verdict.delay_s)
        if verdict.delay_intervals is not None:
            score.delays_intervals.append(verdict.delay_intervals)
        if verdict.delay_steps is not None:
            score.delays_steps.append(verdict.delay_steps)
    for false in board.false_pages:
        name = only or false.incident.detector
        out.setdefault(name, DetectorScore(name=name)).false_pages += 1
