"""How often a ticket for corrected memory errors would be wrong: GPUs drawn from published rates, through the detector.

Two field studies in arXiv 2508.03513. Perlmutter: 7,604 A100 in 326 days, 2,016 events, all on 4.5 % of the GPUs.
Delta: 849 GPUs in 388 days, 3,324 events of 173,936 errors on 5.06 % of the GPUs; up to 112,656 errors in a day;
bad GPUs stay active one to three weeks. Read together: one GPU in twenty has lone events at Perlmutter's rate at any
time, and once in Delta's time a spell of one to three weeks with what is left of Delta's events. A ticket outside of a
spell, and a week after it, is wrong.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from collectors.contract.gpu import Gpu, GpuScrape
from streams.contract import Finding
from streams.detectors.memory import MemoryDetector
from streams.detectors.memory_conditions import MemoryLimits

DAY_S = 86_400.0
STUDY_DAYS = 388
AFFECTED = 0.05
LONE_PER_DAY = 2_016 / (0.045 * 7_604) / 326
"""Events a day of an affected GPU that is not in a spell: Perlmutter's."""
SPELL_EVENTS = 3_324 / (0.0506 * 849) - LONE_PER_DAY * STUDY_DAYS
"""Events of a spell: Delta's, less the lone ones."""
SPELL_DAYS = (7.0, 21.0)
SIGMA = 2.0
"""Of the logarithm of an event's errors (own choice: bursts of 1e5 are rare, yet seen)."""
MEDIAN_ERRORS = 173_936 / 3_324 / 2.718281828 ** (SIGMA * SIGMA / 2)
MOST_ERRORS = 112_656
EVENT_S = 600.0
"""Mean length of an event (own choice)."""
PARTS = 4
"""Scrapes in which an event shows."""
START_S = 20_000 * DAY_S
AFTER_S = 7 * DAY_S
"""A ticket stays true so long after a spell: its event-days are still in the week."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the detector made of a population."""

    gpu_days: float
    false_tickets: int
    spells: int
    spells_found: int
    days_to_ticket: float | None
    """Median from the start of a spell; None: none was found."""
    storms: int
    """Events so fast that they are a storm, whenever they came."""

    @property
    def false_per_1000(self) -> float:
        """Wrong tickets in 1,000 GPU-days."""
        return 1000.0 * self.false_tickets / self.gpu_days


def false_tickets(gpu_days: float, seed: int, limits: MemoryLimits | None = None) -> float:
    """Wrong tickets in 1,000 GPU-days. Equal arguments give equal numbers."""
    return calibrate(gpu_days, seed, limits).false_per_1000


def calibrate(gpu_days: float, seed: int, limits: MemoryLimits | None = None) -> Calibration:
    """Draw GPUs until they make up so many GPU-days and judge each. Those that never err cannot bring a ticket."""
    rng = random.Random(seed)
    gpus = max(1, round(gpu_days / STUDY_DAYS))
    detector = MemoryDetector(limits or MemoryLimits())
    wrong = found = storms = 0
    delays: list[float] = []
    spells = 0
    for _ in range(gpus):
        if rng.random() >= AFFECTED:
            continue
        began_s = rng.uniform(0.0, STUDY_DAYS * DAY_S)
        spell = (began_s, began_s + rng.uniform(*SPELL_DAYS) * DAY_S)
        tickets = _tickets(detector.step(detector.fresh(), list(_scrapes(rng, spell)))[1])
        storms += sum(1 for _, cause in tickets if cause == "correctable_ecc_storm")
        rightly = [at_s for at_s, _ in tickets if spell[0] <= at_s < spell[1] + AFTER_S]
        wrong += sum(1 for at_s, cause in tickets if at_s not in rightly and cause != "correctable_ecc_storm")
        if spell[1] <= STUDY_DAYS * DAY_S:
            spells += 1
            found += bool(rightly)
            delays += [(rightly[0] - spell[0]) / DAY_S] if rightly else []
    return Calibration(
        gpu_days=float(gpus * STUDY_DAYS),
        false_tickets=wrong,
        spells=spells,
        spells_found=found,
        days_to_ticket=median(delays) if delays else None,
        storms=storms,
    )


def _tickets(found: list[Finding]) -> list[tuple[float, str]]:
    """(seconds from the start, cause) of each episode's first edge above information."""
    first: dict[int, tuple[float, str]] = {}
    for finding in found:
        if finding.severity != "info" and finding.state != "cleared":
            first.setdefault(finding.episode_us, (finding.ts_us / 1e6 - START_S, finding.cause))
    return list(first.values())


def _scrapes(rng: random.Random, spell: tuple[float, float]) -> Iterator[GpuScrape]:
    """One GPU's scrapes: one a day, and those around its events."""
    total = 0.0
    growth = sorted(_growth(rng, spell))
    for at_s, errors in growth:
        total += errors
        yield GpuScrape(
            node="node",
            ts_us=round((START_S + at_s) * 1e6),
            gpus=[Gpu(uuid="GPU-0", index=0)],
            columns={"310": [total], "312": [total]},
        )


def _growth(rng: random.Random, spell: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """(time, new errors): nothing once a day; each event in parts, after a scrape that knows nothing of it yet."""
    for day in range(STUDY_DAYS):
        yield day * DAY_S, 0.0
    spell_rate = SPELL_EVENTS / (sum(SPELL_DAYS) / 2 * DAY_S)
    for start_s in (
        *_moments(rng, LONE_PER_DAY / DAY_S, 0.0, STUDY_DAYS * DAY_S),
        *_moments(rng, spell_rate, *spell),
    ):
        errors = min(MOST_ERRORS, max(1.0, round(MEDIAN_ERRORS * rng.lognormvariate(0.0, SIGMA))))
        step_s = max(1.0, rng.expovariate(1.0 / EVENT_S) / PARTS)
        yield start_s, 0.0
        part = errors // PARTS
        for number in range(1, PARTS + 1):
            yield start_s + number * step_s, errors - (PARTS - 1) * part if number == PARTS else part


def _moments(rng: random.Random, rate_per_s: float, from_s: float, to_s: float) -> Iterator[float]:
    at_s = from_s + rng.expovariate(rate_per_s)
    while at_s < to_s:
        yield at_s
        at_s += rng.expovariate(rate_per_s)
