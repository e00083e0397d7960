"""A job with another configuration or batch size is held against no step before."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec
import pytest
from msgspec import structs

from collectors.contract.job import JobEvent, StepReport
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detectors.straggler import StragglerDetector
from tests.streams.steps import START_US, Job, S, blamed, noisy, run, slow_from


def said(found: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(f.state, f.cause) for f in found]


def slows(at: int, factor: float = 1.3, till: int = 10_000) -> Callable[[int, int], float]:
    return noisy(1, 1.0, 0.01, lambda _r, s: factor if at <= s < till else 1.0)


def turns(at: int) -> Callable[[int], str]:
    return lambda step: "a1" if step < at else "b2"


def told(job: Job) -> list[Finding]:
    return run([job.placed(), *job.reports()])


REGRESSED = [("opened", "job_regression")]


def test_a_job_that_is_slower_with_another_configuration_has_not_regressed() -> None:
    job = Job(dp=8, compute=slows(60), steps=100, config=turns(60))
    assert told(job) == []
    assert said(told(replace(job, config=lambda _: "a1"))) == REGRESSED


def test_a_job_that_slows_after_a_change_has_regressed_from_its_new_past() -> None:
    compute = noisy(2, 1.0, 0.01, lambda _r, s: 1.0 if s < 60 else 1.3 if s < 110 else 1.3 * 1.25)
    (edge,) = told(Job(dp=8, compute=compute, steps=140, config=turns(60)))
    assert edge.cause == "job_regression"
    assert edge.value == pytest.approx((1.3 * 1.25 + 0.2) / (1.3 + 0.2), rel=0.03)


def test_a_regression_ends_when_the_configuration_changes_and_says_so() -> None:
    found = told(Job(dp=8, compute=slows(60), steps=140, config=turns(100)))
    assert said(found) == [*REGRESSED, ("cleared", "job_regression")]
    assert found[1].summary == "j runs with another setting since step 100, so its past says nothing of it any more"
    assert [e.what for e in found[1].evidence] == ["configuration a1 -> b2"]


def test_a_regression_ends_with_the_attempt_that_brings_another_configuration() -> None:
    first = Job(dp=8, compute=slows(60), steps=100, config=turns(1000))
    second = Job(dp=8, compute=noisy(3, 1.4, 0.01), steps=60, attempt=1, config=lambda _: "b2")
    later_us = 3600 * S
    again: list[Message] = [structs.replace(m, ts_us=m.ts_us + later_us) for m in second.reports()]
    found = run([first.placed(), *first.reports(), second.placed(START_US + later_us), *again])
    assert said(found) == [*REGRESSED, ("cleared", "job_regression")]
    same = [structs.replace(m, config_hash="a1") for m in again]
    held = run([first.placed(), *first.reports(), second.placed(START_US + later_us), *same])
    assert said(held) == REGRESSED


def test_ranks_that_left_their_own_past_with_the_configuration_are_not_blamed() -> None:
    compute = noisy(6, 1.0, 0.02, lambda r, s: 1.4 if r in (0, 1, 2) and s >= 60 else 1.0)
    job = Job(dp=4, pp=4, per_node=1, compute=compute, steps=90)
    assert blamed(told(job)) == {0, 1, 2}
    assert blamed(told(replace(job, config=turns(60)))) == set()


def test_a_rank_is_slower_than_its_peers_whatever_the_configuration() -> None:
    found = told(Job(dp=8, compute=noisy(4, 1.0, 0.01, slow_from(3, 61, 1.3)), steps=80, config=turns(60)))
    assert [(f.cause, f.subject.rank) for f in found] == [("gpu_slow", 3)]


def test_what_is_said_of_a_part_is_not_over_because_it_cannot_be_measured_any_more() -> None:
    compute = noisy(6, 1.0, 0.02, lambda r, s: 1.4 if r in (0, 1, 2) and 60 <= s < 100 else 1.0)
    ranks = Job(dp=4, pp=4, per_node=1, compute=compute, steps=180, config=turns(90))
    assert {f.state for f in told(ranks)} == {"opened"}
    ended = JobEvent(ts_us=START_US + 3600 * S, job="j", kind="ended")
    assert {f.state for f in run([ranks.placed(), *ranks.reports(), ended])} == {"opened", "cleared"}
    transfer = noisy(4, 0.2, 0.03, lambda _r, s: 2.0 if 40 <= s < 70 else 1.0)
    links = Job(dp=8, compute=noisy(5, 1.0, 0.01), transfer=transfer, steps=140, config=turns(60))
    assert said(told(links)) == [("opened", "comm_slow")]
    assert said(told(replace(links, config=turns(1000)))) == [("opened", "comm_slow"), ("cleared", "comm_slow")]


def test_transfers_that_take_longer_with_another_configuration_are_not_slow() -> None:
    transfer = noisy(4, 0.2, 0.03, lambda _r, s: 2.0 if s >= 60 else 1.0)
    assert told(Job(dp=8, compute=noisy(5, 1.0, 0.01), transfer=transfer, steps=100, config=turns(60))) == []


def test_a_larger_batch_is_no_regression() -> None:
    job = Job(dp=8, compute=slows(60, 2.4), steps=100, batch=lambda s: 512 if s < 60 else 1024)
    assert told(job) == []
    assert said(told(replace(job, batch=lambda _: 512))) == REGRESSED


def test_the_last_batch_of_an_epoch_is_not_another_configuration() -> None:
    """Every 25 steps one is smaller and faster; the job slows down for good at step 90."""

    def rest(step: int) -> bool:
        return step % 25 == 24

    slower = slows(90)
    compute = lambda r, s: slower(r, s) * (0.3 if rest(s) else 1.0)  # noqa: E731
    job = Job(dp=8, compute=compute, steps=130, batch=lambda s: 128 if rest(s) else 512)
    assert said(told(job)) == REGRESSED


def test_batches_of_any_size_are_compared_by_the_sample() -> None:
    sizes = [512 + 64 * (step * 7 % 11) for step in range(160)]
    slower = slows(110)
    job = Job(dp=8, compute=lambda r, s: slower(r, s) * sizes[s] / 512, steps=160, batch=sizes.__getitem__)
    (edge,) = told(job)
    assert edge.cause == "job_regression"
    even = noisy(7, 1.0, 0.01)
    calm = Job(dp=8, compute=lambda r, s: even(r, s) * sizes[s] / 512, steps=160, batch=sizes.__getitem__)
    assert told(calm) == []


def test_ranks_that_do_not_agree_tell_no_configuration() -> None:
    """A hash that holds what differs by node, such as a path."""
    job = Job(dp=16, compute=slows(60), steps=100)
    odd = [structs.replace(m, config_hash=f"{m.node}-{m.step[0] // 20}") for m in job.reports()]
    assert said(run([job.placed(), *odd])) == REGRESSED


def test_nodes_that_report_in_another_order_change_nothing() -> None:
    job = Job(
        dp=16, per_node=4, compute=slows(60), steps=130, config=turns(100), batch=lambda s: 512 if s < 90 else 256
    )
    reports = job.reports()
    turned = [m for i in range(0, len(reports), 4) for m in reversed(reports[i : i + 4])]
    assert run([job.placed(), *turned]) == run([job.placed(), *reports])
    assert run([m for r in [job.placed(), *reports] for m in (r, r)]) == run([job.placed(), *reports])


@pytest.mark.parametrize("cut", [150, 210, 270, 330, 420])
def test_a_restart_with_the_last_minutes_read_back_changes_nothing(cut: int) -> None:
    """Steps before the change are read back too: they are no change back."""
    job = Job(dp=8, per_node=4, compute=slows(60, till=160), steps=220, config=turns(120))
    items: list[Message] = [job.placed(), *job.reports()]
    detector = StragglerDetector()
    state, before = detector.step(detector.fresh(), items[:cut])
    kept = detector.keep(state)
    assert kept is not None
    state, warm = detector.step(detector.restore(kept), items[:cut])
    assert warm == []
    whole = run(items, tick=False)
    assert before + detector.step(state, items[cut:])[1] == whole
    assert said(whole) == [*REGRESSED, ("cleared", "job_regression")]


def test_after_its_end_a_job_may_regress_again() -> None:
    job = Job(dp=8, compute=slows(60), steps=100)
    end_us = job.reports()[-1].ts_us
    ended = JobEvent(ts_us=end_us + S, job="j", kind="ended")
    slower = Job(dp=8, compute=noisy(8, 1.3, 0.01, lambda _r, s: 1.3 if s >= 60 else 1.0), steps=100, attempt=1)
    later: list[StepReport] = [structs.replace(m, ts_us=m.ts_us + 3600 * S) for m in slower.reports()]
    found = run([job.placed(), *job.reports(), ended, *later])
    assert said(found) == [*REGRESSED, ("cleared", "job_regression"), *REGRESSED]


def test_what_was_kept_before_there_were_configurations_is_read() -> None:
    state = StragglerDetector().restore(
        msgspec.msgpack.encode({"attempt": 3, "suspects": {5: {"factor": 1.3, "node": "n1", "since": 20}}})
    )
    assert (state.kept.attempt, state.kept.config, state.kept.batch_size) == (3, None, None)
