"""Recall, delay and false flags over the shapes and noises of three real jobs, with fixed seeds.

Quiet groups of four under a pipeline (sigma 0.007), noisy groups of 32 (0.10 to 0.15, as with sequences of many
lengths), pairs under an unequal pipeline (0.01); one rank of each trial is slower from a step right behind the gate on.
"""

import math
import random
from dataclasses import dataclass

import pytest

from tests.streams.steps import Job, blamed, run


@dataclass(frozen=True)
class Shape:
    """A job of one published shape. `gate`: its first judged step."""

    dp: int
    pp: int
    low: float
    high: float
    mean_s: float
    last_stage: float = 1.0
    gate: int = 10


SHAPES = {
    "quiet groups of 4": Shape(4, 4, 0.007, 0.007, 19.2),
    "noisy groups of 32": Shape(32, 2, 0.10, 0.15, 5.0),
    "pairs": Shape(2, 4, 0.01, 0.01, 1.0, last_stage=1.6),
}


@dataclass(frozen=True)
class Outcome:
    """`steps`: from the first slow one to the finding; None: not found."""

    steps: int | None
    wrongly: frozenset[int]


def trial(shape: Shape, factor: float, seed: int, steps: int = 44, onset: tuple[int, int] = (10, 15)) -> Outcome:
    rng = random.Random(f"{shape}/{factor}/{seed}")
    world = shape.dp * shape.pp
    sigma, slow, since = rng.uniform(shape.low, shape.high), rng.randrange(world), rng.randrange(*onset)
    last = shape.dp * (shape.pp - 1)
    times = [
        [
            shape.mean_s
            * math.exp(rng.gauss(0.0, sigma))
            * (shape.last_stage if rank >= last else 1.0)
            * (factor if rank == slow and step >= since else 1.0)
            for rank in range(world)
        ]
        for step in range(steps)
    ]
    job = Job(dp=shape.dp, pp=shape.pp, compute=lambda r, s: times[s][r], steps=steps)
    reports = job.reports()
    found = run([job.placed(), *reports])
    ended = {m.step[0]: m.ts_us for m in reports}
    at_us = [f.ts_us for f in found if f.subject.rank == slow and f.severity != "info"]
    at = min((s for s, ts_us in ended.items() if at_us and ts_us >= at_us[0]), default=None)
    return Outcome(None if at is None else at - since + 1, frozenset(blamed(found) - {slow}))


def median(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


@pytest.mark.parametrize(
    ("name", "factor", "trials", "recall", "typical"),
    [
        ("quiet groups of 4", 1.05, 20, 0, None),
        ("quiet groups of 4", 1.10, 20, 20, 8),
        ("quiet groups of 4", 1.15, 20, 20, 3),
        ("quiet groups of 4", 1.2, 20, 20, 3),
        ("quiet groups of 4", 1.3, 20, 20, 3),
        ("quiet groups of 4", 1.5, 20, 20, 3),
        ("noisy groups of 32", 1.05, 12, 0, None),
        ("noisy groups of 32", 1.15, 12, 4, 26),
        ("noisy groups of 32", 1.2, 12, 9, 20),
        ("noisy groups of 32", 1.3, 12, 12, 11),
        ("noisy groups of 32", 1.5, 12, 12, 6),
        ("pairs", 1.05, 20, 0, None),
        ("pairs", 1.10, 20, 14, 5),
        ("pairs", 1.15, 20, 20, 3),
        ("pairs", 1.2, 20, 20, 3),
        ("pairs", 1.3, 20, 20, 3),
        ("pairs", 1.5, 20, 20, 3),
    ],
)
def test_the_slow_rank_is_found_and_no_other(
    name: str, factor: float, trials: int, recall: int, typical: int | None
) -> None:
    outcomes = [trial(SHAPES[name], factor, seed) for seed in range(trials)]
    found = [o.steps for o in outcomes if o.steps is not None]
    assert [o.wrongly for o in outcomes if o.wrongly] == []
    assert (len(found), median(found) if found else None) == (recall, typical)


@pytest.mark.parametrize("name", SHAPES)
def test_in_a_longer_job_every_slow_down_of_fifteen_per_cent_is_found(name: str) -> None:
    outcomes = [trial(SHAPES[name], 1.15, 100 + seed, steps=140, onset=(10, 40)) for seed in range(8)]
    assert [o.wrongly for o in outcomes if o.wrongly] == []
    assert [seed for seed, o in enumerate(outcomes) if o.steps is None] == []


@pytest.mark.parametrize("after", range(2, 7))
def test_in_pairs_the_slow_steps_do_not_pass_for_noise(after: int) -> None:
    """A slow-down that starts few steps behind the gate: there is hardly any before to take the noise from."""
    shape = SHAPES["pairs"]
    since = shape.gate + after
    outcomes = [trial(shape, 1.15, seed, onset=(since, since + 1)) for seed in range(12)]
    assert [o.wrongly for o in outcomes if o.wrongly] == []
    assert max(o.steps or 99 for o in outcomes) <= 7


def test_hours_of_noise_in_a_job_of_64_blame_nobody() -> None:
    """64 ranks x 1,000 steps, sigma 0.1; `straggler_bench --soak 20000` runs twenty times as long."""
    rng = random.Random(64)
    times = [[3.0 * math.exp(rng.gauss(0.0, 0.1)) for _ in range(64)] for _ in range(1_000)]
    job = Job(dp=64, compute=lambda r, s: times[s][r], steps=1_000)
    assert [f.cause for f in run([job.placed(), *job.reports()]) if f.severity != "info"] == []
