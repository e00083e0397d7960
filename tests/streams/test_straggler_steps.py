"""Steps that nodes report apart: when one is complete, late, repeated, or out of all bounds."""

from collectors.contract.job import StepReport
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_steps import Steps

S = 1_000_000
LIMITS = StragglerLimits()


def report(ts_s: float, steps: list[int], ranks: list[int], compute_s: float | None = 1.0) -> StepReport:
    pairs = [(rank, step) for step in steps for rank in ranks]
    return StepReport(
        ts_us=int(ts_s * S),
        job="j",
        node="n",
        rank=[rank for rank, _ in pairs],
        step=[step for _, step in pairs],
        phase=["train"] * len(pairs),
        compute_s=[compute_s] * len(pairs),
    )


def closed(steps: Steps, now_s: float) -> list[tuple[int, int, float]]:
    """(step, ranks, event time in seconds) of what closes."""
    return [(n, len(step.entries), ts / S) for n, step, ts in steps.due(LIMITS, int(now_s * S))]


def started(*ranks: int) -> Steps:
    """A job whose ranks are known."""
    steps = Steps()
    steps.take(LIMITS, report(1, [0], list(ranks)))
    assert closed(steps, 1) == [(0, len(ranks), 1)]
    return steps


def test_a_step_closes_when_its_last_rank_reported() -> None:
    steps = started(0, 1, 2, 3)
    steps.take(LIMITS, report(5, [1], [0, 1]))
    assert closed(steps, 5) == []
    steps.take(LIMITS, report(6, [1], [2, 3]))
    assert closed(steps, 6) == [(1, 4, 6)]


def test_a_missing_rank_is_waited_for_until_the_deadline() -> None:
    steps = started(0, 1, 2, 3)
    steps.take(LIMITS, report(5, [1], [0, 1, 2]))
    assert closed(steps, 34.9) == []
    assert closed(steps, 99) == [(1, 3, 35)]


def test_a_rank_that_is_three_steps_further_is_not_waited_for() -> None:
    steps = started(0, 1)
    steps.take(LIMITS, report(5, [1, 2, 3, 4], [0]))
    steps.take(LIMITS, report(6, [3], [1]))
    assert closed(steps, 6) == []
    steps.take(LIMITS, report(6, [4], [1]))
    assert closed(steps, 6)[0] == (1, 1, 5)


def test_nodes_that_report_many_steps_at_once_lose_none() -> None:
    steps = started(0, 1)
    steps.take(LIMITS, report(5, [1, 2, 3, 4, 5], [0]))
    assert closed(steps, 5) == []
    steps.take(LIMITS, report(6, [1, 2, 3, 4, 5], [1]))
    assert [n for n, ranks, _ in closed(steps, 6) if ranks == 2] == [1, 2, 3, 4, 5]


def test_the_first_word_of_a_rank_and_step_counts() -> None:
    steps = started(0, 1)
    steps.take(LIMITS, report(5, [1], [0], compute_s=1.0))
    steps.take(LIMITS, report(6, [1], [0], compute_s=9.0))
    assert steps.open[1].entries[0].compute_s == 1.0
    assert len(steps.open[1].entries) == 1


def test_what_comes_after_its_step_was_judged_is_ignored() -> None:
    steps = started(0, 1)
    assert steps.take(LIMITS, report(2, [0], [0, 1])) is False
    assert steps.open == {}


def test_a_rank_that_is_gone_is_given_up() -> None:
    steps = started(*range(10))
    for step in range(1, 12):
        steps.take(LIMITS, report(40 * step, [step], list(range(9))))
        assert closed(steps, 40 * step + 31) == [(step, 9, 40 * step + (30 if step <= 10 else 0))]
    steps.take(LIMITS, report(999, [12], list(range(10))))
    assert closed(steps, 999) == [(12, 10, 999)]


def test_a_wild_step_number_does_not_stop_the_job() -> None:
    steps = started(*range(10))
    steps.take(LIMITS, report(5, [10**12], [3]))
    steps.take(LIMITS, report(5, [1], list(range(10))))
    assert closed(steps, 6) == [(1, 10, 5)]
    assert closed(steps, 40) == [(10**12, 1, 35)]
    steps.take(LIMITS, report(41, [2], list(range(10))))
    assert closed(steps, 41) == [(2, 10, 41)]


def test_most_ranks_going_back_long_after_is_a_restart_nobody_announced() -> None:
    steps = started(0, 1, 2, 3)
    steps.take(LIMITS, report(10, [1], [0, 1, 2, 3]))
    closed(steps, 10)
    assert steps.take(LIMITS, report(11, [0, 1], [0, 1, 2, 3])) is False
    assert steps.take(LIMITS, report(500, [0], [0, 1])) is False
    assert steps.take(LIMITS, report(501, [0], [2, 3])) is True


def test_open_steps_are_bounded() -> None:
    steps = started(0, 1)
    for step in range(1, 2000):
        steps.take(LIMITS, report(2 + step / 1000, [step], [0]))
        closed(steps, 2 + step / 1000)
    assert len(steps.open) <= LIMITS.open_steps


def test_columns_that_are_too_short_or_absurd_are_unknown() -> None:
    steps = Steps()
    steps.take(
        LIMITS,
        StepReport(
            ts_us=1,
            job="j",
            node="n",
            rank=[0, 1, 2, 3],
            step=[0, 0, 0, -4],
            phase=["train"] * 4,
            compute_s=[float("nan"), -1.0],
        ),
    )
    assert [entry.compute_s for entry in steps.open[0].entries.values()] == [None, None, None]
