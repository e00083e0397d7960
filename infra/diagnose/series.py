"""The steps of one job: what each rank spent on them, which of them count, and when the job was slow."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from collectors.contract.job import Placement, StepReport
from streams.detectors.straggler_groups import stage_of
from streams.detectors.straggler_statistic import MEDIAN_ERROR, ratios_to_others, sigma_of

PARTS = ("compute_s", "wait_s", "transfer_s", "data_s", "checkpoint_s", "cpu_s")
FIRST_STEPS = 10
"""Steps of an attempt that say nothing yet (jobs: first step of 604 recorded runs 28 times the normal)."""
EFFECT = math.log(1.10)
"""What counts as slow: the effect size of the straggler detector."""
FLOOR = 0.01
STRETCH = 5
MOST_WINDOW, MOST_BASE = 40, 60
Z = 4.0

Values = dict[int, float]
"""Rank -> seconds."""


@dataclass(slots=True)
class Step:
    """One step over all ranks that reported it."""

    attempt: int
    number: int
    ts_us: int
    train: bool = True
    step_s: Values = field(default_factory=dict)
    parts: dict[str, Values] = field(default_factory=dict)

    @property
    def time_s(self) -> float:
        """Of the job: the median rank's, for a synchronous step ends for all together."""
        return median(self.step_s.values())


@dataclass(frozen=True, slots=True)
class Stretch:
    """When the job was slow: the steps of it, what it was before, and how much slower."""

    since: Step
    window: list[Step]
    """Its last steps."""
    base: list[Step]
    """The last steps before it."""
    factor: float
    now: bool
    """It still is, at the end of what is known."""


def steps_of(reports: Iterable[StepReport]) -> list[Step]:
    """Every step in order; a step that was repeated after a restart stands once an attempt."""
    found: dict[tuple[int, int], Step] = {}
    for report in reports:
        for row, (rank, number) in enumerate(zip(report.rank, report.step, strict=True)):
            step = found.get((report.attempt, number))
            if step is None:
                step = found[report.attempt, number] = Step(report.attempt, number, report.ts_us)
            step.ts_us = max(step.ts_us, report.ts_us)
            step.train &= report.phase[row] == "train"
            if report.step_s and (whole := report.step_s[row]) is not None and whole > 0:
                step.step_s[rank] = whole
            for name in PARTS:
                column = getattr(report, name)
                if column and column[row] is not None:
                    step.parts.setdefault(name, {})[rank] = column[row]
    return [found[key] for key in sorted(found)]


def counted(steps: Sequence[Step]) -> list[Step]:
    """Steps that may be compared: training, after the first of their attempt, not right behind a pause."""
    out: list[Step] = []
    first: dict[int, int] = {}
    paused = False
    for step in steps:
        begun = first.setdefault(step.attempt, step.number)
        if step.train and not paused and step.step_s and step.number - begun >= FIRST_STEPS:
            out.append(step)
        paused = not step.train
    return out


def slow_stretch(steps: Sequence[Step]) -> Stretch | None:
    """The last stretch in which the job was slower than at its usual pace; None: there was none."""
    if len(steps) < 2 * STRETCH:
        return None
    times = [math.log(step.time_s) for step in steps]
    usual = sorted(times)[len(times) // 5]
    smooth = [median(times[max(0, at - STRETCH + 1) : at + 1]) for at in range(len(times))]
    slow = [level - usual >= EFFECT / 2 for level in smooth]
    for last in (at for at in range(len(times) - 1, STRETCH - 2, -1) if slow[at]):
        first = last
        while first > 0 and slow[first - 1]:
            first -= 1
        inside = range(max(0, first - STRETCH // 2), last + 1)
        base = [at for at in range(inside[0]) if not slow[at]][-MOST_BASE:]
        before = [times[at] for at in base]
        if len(inside) >= STRETCH and len(before) >= STRETCH:
            shift = median(times[at] for at in inside) - median(before)
            error = MEDIAN_ERROR * sigma_of(before, FLOOR) / math.sqrt(min(len(inside), MOST_WINDOW))
            if shift >= EFFECT / 2 and shift >= Z * error:
                window = [steps[at] for at in inside][-MOST_WINDOW:]
                base_steps = [steps[at] for at in base]
                return Stretch(steps[inside[0]], window, base_steps, math.exp(shift), last == len(times) - 1)
        slow[first : last + 1] = [False] * (last + 1 - first)
    return None


def beside_peers(steps: Sequence[Step], placement: Mapping[int, Placement]) -> dict[int, float]:
    """Rank -> times its own compute over that of its role peers, the median over the steps."""
    groups: dict[object, list[int]] = {}
    for rank in sorted({rank for step in steps for rank in step.parts.get("compute_s", ())}):
        place = placement.get(rank)
        c = None if place is None else place.coords
        role = None if c is None or place is None else (stage_of(place), c.cp, c.ep, place.gpu_model)
        groups.setdefault(role, []).append(rank)
    ratios: dict[int, list[float]] = {}
    for step in steps:
        compute = step.parts.get("compute_s", {})
        for ranks in groups.values():
            present = {rank: value for rank in ranks if (value := compute.get(rank, 0.0)) > 0}
            if len(present) >= 2:
                for rank, ratio in ratios_to_others(present).items():
                    ratios.setdefault(rank, []).append(ratio)
    return {rank: math.exp(median(values)) for rank, values in ratios.items()}


def typical(steps: Iterable[Step], part: str, ranks: Iterable[int] | None = None) -> float | None:
    """Seconds of one part, the median over ranks and steps; None: nobody told."""
    chosen = None if ranks is None else set(ranks)
    values = [
        value for step in steps for rank, value in step.parts.get(part, {}).items() if chosen is None or rank in chosen
    ]
    return median(values) if values else None
