"""Points of a node's faults: how they fade, what its worst part has left, and when that changes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streams.health_book import Mark, NodeMarks
from streams.health_limits import HOUR_US, HealthLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the faults of one node come to at one moment. `keys`: the findings behind a wish to take it out."""

    score: float
    hard: bool
    two_kinds: bool
    keys: tuple[str, ...]

    def out(self, limits: HealthLimits) -> str:
        """Reason code for taking the node out; empty: there is none."""
        if self.hard:
            return "hard_fault"
        return "score" if self.score < limits.cordon_below else "two_kinds" if self.two_kinds else ""


def weight(mark: Mark, ts_us: int, limits: HealthLimits) -> float:
    """Points that a fault takes off now. They fade by whole hours, so that the moments of change are known ahead."""
    if mark.symptom and not (mark.hard and mark.cleared_us is None):
        return 0.0
    if mark.cleared_us is None:
        return mark.points
    hours = max(0, ts_us - mark.cleared_us) // HOUR_US
    return mark.points * float(0.5 ** (hours * HOUR_US / limits.half_life_us))


def weigh(node: NodeMarks, ts_us: int, limits: HealthLimits) -> Evidence:
    """Of all faults, or, on the way back from repair, of those that were not over before."""
    marks = {k: m for k, m in node.marks.items() if not _behind(node, m)}
    kinds: dict[str, set[str]] = {}
    for mark in marks.values():
        recent = mark.cleared_us is None or ts_us - mark.cleared_us < limits.two_kinds_us
        # A failure is blamed on a fault of the part: it is not independent of it.
        if recent and mark.kind != JOB_FAILURE and weight(mark, ts_us, limits) > 0:
            kinds.setdefault(mark.part, set()).add(mark.kind)
    heavy = sorted(marks, key=lambda k: (-weight(marks[k], ts_us, limits), k))
    return Evidence(
        score=score(marks.values(), ts_us, limits),
        hard=any(m.hard and m.cleared_us is None for m in marks.values()),
        two_kinds=any(len(found) > 1 for found in kinds.values()),
        keys=tuple(k for k in heavy if weight(marks[k], ts_us, limits) > 0)[:8],
    )


def score(marks: Iterable[Mark], ts_us: int, limits: HealthLimits) -> float:
    """100 less the points of the worst part."""
    by_part: dict[str, float] = {}
    for mark in marks:
        by_part[mark.part] = by_part.get(mark.part, 0.0) + weight(mark, ts_us, limits)
    return float(round(max(0.0, 100.0 - max(by_part.values(), default=0.0))))


def unclean_us(node: NodeMarks) -> int | None:
    """The last moment at which something weighed or was silent since it came back; None: it does still."""
    last = node.back_us or 0
    for mark in node.marks.values():
        if (mark.points == 0 or mark.symptom) and mark.kind != SILENT:
            continue
        if mark.cleared_us is None:
            return None
        last = max(last, mark.cleared_us)
    return last


def moments(mark: Mark, ts_us: int, limits: HealthLimits) -> Iterator[int]:
    """Times after `ts_us` at which what one fault weighs, or says of silence, may change."""
    if mark.cleared_us is None:
        if mark.kind == SILENT and mark.since_us + limits.unknown_after_us > ts_us:
            yield mark.since_us + limits.unknown_after_us
        return
    yield mark.cleared_us + (max(0, ts_us - mark.cleared_us) // HOUR_US + 1) * HOUR_US
    if mark.cleared_us + limits.two_kinds_us > ts_us:
        yield mark.cleared_us + limits.two_kinds_us


SILENT = "silent node"
"""Kind of the mark that a silent node leaves."""
JOB_FAILURE = "job failure"
"""... and of one for a job's failure."""


def is_silent(node: NodeMarks, ts_us: int, limits: HealthLimits) -> bool:
    """Silent for so long that nobody knows how it is."""
    since = [m.since_us for m in node.marks.values() if m.kind == SILENT and m.cleared_us is None]
    return bool(since) and ts_us - min(since) >= limits.unknown_after_us


def is_hushed(node: NodeMarks) -> bool:
    """Silent at all: nothing gets better by itself meanwhile."""
    return any(m.kind == SILENT and m.cleared_us is None for m in node.marks.values())


def _behind(node: NodeMarks, mark: Mark) -> bool:
    return node.back_us is not None and mark.cleared_us is not None and mark.cleared_us <= node.back_us
