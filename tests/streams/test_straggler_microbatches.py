"""Forward and backward times of microbatches tell whether unequal work is the data's."""

import math
import random
from collections.abc import Callable

import pytest
from msgspec import structs

from streams.contract import Finding
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_microbatches import likeness, pairs_of
from tests.streams.steps import Job, blamed, run

Times = tuple[list[float], list[float]]
LIMITS = StragglerLimits()


def sequences(rank: int, step: int, count: int = 8, spread: float = 0.3, own: float = 0.01) -> Times:
    """Microbatches of many lengths: both times follow the length, each with a noise of its own."""
    draw = random.Random(rank * 100_003 + step)
    lengths = [math.exp(draw.gauss(0.0, spread)) for _ in range(count)]
    forward = [0.05 * length * math.exp(draw.gauss(0.0, own)) for length in lengths]
    return forward, [0.1 * length * math.exp(draw.gauss(0.0, own)) for length in lengths]


def even(rank: int, step: int, count: int = 8, spread: float = 0.02) -> Times:
    return sequences(rank, step, count, spread=spread, own=0.002)


def total(
    microbatches: Callable[[int, int], Times], factor: Callable[[int, int], float]
) -> Callable[[int, int], float]:
    """Own compute: what the microbatches took together."""
    return lambda r, s: sum(map(sum, microbatches(r, s))) * factor(r, s)


def told(
    microbatches: Callable[[int, int], Times | None],
    measured: Callable[[int, int], Times] | None = None,
    factor: Callable[[int, int], float] = lambda _r, _s: 1.0,
    **shape: int,
) -> list[Finding]:
    job = Job(
        **({"dp": 32, "steps": 60} | shape),  # type: ignore[arg-type]
        compute=total(measured or microbatches, factor),  # type: ignore[arg-type]
        microbatches=microbatches,
    )
    return run([job.placed(), *job.reports()])


def proof(finding: Finding) -> tuple[str, float | None]:
    (row,) = [e for e in finding.evidence if e.what.startswith("correlation")]
    return row.what, row.value


def correlation(microbatches: Callable[[int, int], Times]) -> float:
    steps = [{r: pairs for r in range(16) if (pairs := pairs_of(*microbatches(r, s))) is not None} for s in range(20)]
    found = likeness(LIMITS, steps)
    assert found is not None
    return found.correlation


def test_uneven_sequences_are_the_datas_for_sure() -> None:
    assert 0.989 <= correlation(lambda r, s: sequences(r, s, own=0.025)) <= 0.996
    (edge,) = told(lambda r, s: sequences(r, s, own=0.025))
    assert (edge.cause, edge.severity, edge.confidence) == ("imbalance_data", "info", "high")
    what, value = proof(edge)
    assert what == "correlation of forward with backward times of a microbatch, median of 16 ranks"
    assert value == pytest.approx(correlation(lambda r, s: sequences(r, s, own=0.025)), abs=0.005)


@pytest.mark.parametrize(("own", "low", "high"), [(0.1, 0.85, 0.92), (0.15, 0.71, 0.90)])
def test_noise_that_takes_one_of_the_two_times_alone_is_not_the_datas(own: float, low: float, high: float) -> None:
    def stuttering(rank: int, step: int) -> Times:
        return sequences(rank, step, spread=0.25, own=own)

    assert low <= correlation(stuttering) <= high
    assert told(stuttering) == []
    (guess,) = told(lambda _r, _s: None, stuttering)
    assert (guess.cause, guess.confidence) == ("imbalance_data", "low")


def test_a_clock_that_wanders_from_step_to_step_is_not_the_datas() -> None:
    """It makes both times long together, but those of a whole step."""

    def wandering(rank: int, step: int) -> Times:
        clock = math.exp(random.Random(rank * 7_919 + step).gauss(0.0, 0.12))
        forward, backward = sequences(rank, step, spread=0.0, own=0.06)
        return [f * clock for f in forward], [b * clock for b in backward]

    assert correlation(wandering) < 0.2
    assert told(wandering) == []


@pytest.mark.parametrize(
    "microbatches",
    [
        lambda r, s: sequences(r, s, count=1),
        even,
        lambda r, s: (sequences(r, s)[0], sequences(r, s)[1][:-1]),
        lambda r, s: sequences(r, s) if s == 15 else None,
    ],
    ids=["one a step", "all of one length", "columns that do not belong together", "too few"],
)
def test_where_microbatches_tell_nothing_it_is_judged_as_without(microbatches: Callable[[int, int], Times]) -> None:
    (edge,) = told(microbatches, sequences)
    assert (edge.cause, edge.confidence) == ("imbalance_data", "low")
    assert proof(edge) == ("correlation of compute with work: its work per rank is not told", None)


def test_one_step_in_ten_is_enough() -> None:
    (edge,) = told(lambda r, s: sequences(r, s) if s % 10 == 5 else None, sequences)
    assert (edge.cause, edge.confidence) == ("imbalance_data", "high")


def test_a_slow_rank_among_uneven_data_is_still_the_slow_one() -> None:
    slow = lambda r, s: 1.6 if r == 5 and s >= 30 else 1.0  # noqa: E731
    found = told(sequences, factor=slow, steps=90)
    assert blamed(found) == {5}


def test_even_work_says_nothing() -> None:
    assert told(even) == []


def test_a_long_last_stage_is_the_stages_and_not_the_datas() -> None:
    def stuttering(rank: int, step: int) -> Times:
        forward, backward = sequences(rank, step, spread=0.03, own=0.02)
        last = 1.6 if rank >= 6 else 1.0
        return [f * last for f in forward], [b * last for b in backward]

    assert 0.6 <= correlation(stuttering) <= 0.9
    assert [f.cause for f in told(stuttering, dp=2, pp=4)] == ["imbalance_stage"]


@pytest.mark.parametrize(
    ("forward", "backward"),
    [([], []), ([1.0], [2.0]), ([1.0, 2.0], [1.0]), ([0.0, 1.0], [1.0, 2.0]), ([1.0, math.inf], [1.0, 2.0])],
)
def test_times_that_are_none_make_no_pairs(forward: list[float], backward: list[float]) -> None:
    assert pairs_of(forward, backward) is None


def test_microbatches_that_never_vary_have_no_correlation() -> None:
    same = pairs_of([1.0] * 20, [2.0] * 20)
    assert same is not None
    assert likeness(LIMITS, [dict.fromkeys(range(4), same)]) is None


def test_unequal_data_is_not_over_because_nobody_tells_its_compute_any_more() -> None:
    job = Job(dp=16, compute=total(sequences, lambda _r, _s: 1.0), microbatches=sequences, steps=120)
    mute = [m if m.step[0] < 60 else structs.replace(m, compute_s=[]) for m in job.reports()]
    found = [f for f in run([job.placed(), *mute]) if f.cause == "imbalance_data"]
    assert [f.state for f in found] == ["opened"]


def test_data_that_turns_uneven_in_a_quiet_job_accuses_no_rank() -> None:
    """The noise of the quiet steps before is none to measure the uneven ones by."""
    for seed in range(5):
        mixed = lambda r, s, seed=seed: (sequences if s >= 60 else even)(r + 100 * seed, s)  # noqa: E731
        found = told(mixed, dp=16, steps=150)
        assert blamed(found) == set()
        assert {f.subject.kind for f in found if f.severity != "info"} <= {"job"}
        assert [(f.cause, f.confidence) for f in found if f.severity == "info"] == [("imbalance_data", "high")]


def test_a_rank_that_turns_slow_in_the_noise_that_has_set_in_is_still_found() -> None:
    mixed = lambda r, s: (sequences if s >= 60 else even)(r, s)  # noqa: E731
    slow = lambda r, s: 1.5 if r == 7 and s >= 70 else 1.0  # noqa: E731
    assert blamed(told(mixed, factor=slow, dp=16, steps=120)) == {7}
