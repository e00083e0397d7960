"""Late ranks and slow links of jobs that only NCCL speaks of."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from collectors.contract.job import CollectiveWindow, JobEvent, StepReport
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.comm import CommDetector
from tests.streams.collectives import START_US, Nccl, S, slow_from
from tests.streams.story_form import Item


def run(items: Sequence[Item]) -> list[Finding]:
    detector = CommDetector()
    return detector.step(detector.fresh(), items)[1]


def told(job: Nccl, steps: int) -> list[Item]:
    return [job.placed(), *job.beats(), *job.steps(0, steps)]


def by_time(items: Sequence[Item]) -> list[Item]:
    return sorted(items, key=lambda item: item.ts_us)


def shape(found: Sequence[Finding]) -> list[tuple[str, str, str]]:
    return [(f.state, f.cause, f.subject.id) for f in found]


def at_s(finding: Finding) -> float:
    return (finding.ts_us - START_US) / S


def test_the_rank_with_the_shortest_times_is_late_with_low_confidence() -> None:
    found = run(told(Nccl(dp=8, sigma=0.05, compute=slow_from(5, 50, 1.4, until=200)), 320))
    assert shape(found) == [("opened", "slow_rank", "j/5"), ("cleared", "slow_rank", "j/5")]
    edge = found[0]
    assert (edge.confidence, edge.severity, edge.subject.gpu_uuid) == ("low", "warning", "GPU-5")
    assert at_s(edge) <= 100 + 60
    assert edge.slowdown is not None and edge.slowdown > 1.1


def test_a_late_rank_of_a_tensor_parallel_group_is_told_from_those_that_it_holds_up() -> None:
    found = run(told(Nccl(dp=4, tp=4, compute=slow_from(6, 50, 1.4)), 150))
    assert shape(found) == [("opened", "slow_rank", "j/6")]


@pytest.mark.parametrize(("shape_of", "rank"), [((4, 4, 1), 6), ((4, 4, 2), 10), ((4, 2, 2), 5)])
def test_in_a_pipeline_the_stage_is_named_by_whom_it_keeps_waiting(shape_of: tuple[int, int, int], rank: int) -> None:
    dp, pp, tp = shape_of
    found = run(told(Nccl(dp=dp, pp=pp, tp=tp, compute=slow_from(rank, 50, 1.4)), 130))
    assert shape(found) == [("opened", "slow_rank", f"j/{rank}")]
    assert any("pipeline" in e.what for e in found[0].evidence)


def test_a_pipeline_without_sends_names_the_replica_and_says_so() -> None:
    """Releases before 2.30 record no sends: the late replica is known, its stage is not."""
    job = Nccl(dp=4, pp=4, compute=slow_from(6, 50, 1.4))
    found = run([_collectives_only(item) for item in told(job, 130)])
    assert {f.subject.node for f in found} == {"n1"}
    assert {c.id for f in found for c in f.candidates} <= {"j/4", "j/5", "j/6", "j/7"}


def test_two_ranks_of_one_host_are_the_host() -> None:
    job = Nccl(dp=4, tp=2, per_node=2, compute=lambda r, s: 1.5 if r in (2, 3) and s >= 50 else 1.0)
    found = run(told(job, 130))
    assert shape(found) == [("opened", "host_slow", "n1")]
    assert [c.id for c in found[0].candidates] == ["j/2", "j/3"]


def test_a_slow_host_of_many_replicas_is_found_though_none_of_them_comes_last_most_often() -> None:
    job = Nccl(dp=16, per_node=4, sigma=0.03, compute=lambda r, s: 1.4 if 4 <= r < 8 and s >= 50 else 1.0)
    found = run(told(job, 150))
    assert shape(found) == [("opened", "host_slow", "n1")]
    assert found[0].summary.startswith("4 ranks on n1 of j come last in ")


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.15])
@pytest.mark.parametrize("form", [(8, 1, 1), (2, 1, 1), (4, 1, 4), (4, 2, 2)])
def test_a_noisy_job_in_which_nobody_is_slow_brings_nothing(sigma: float, form: tuple[int, int, int]) -> None:
    dp, pp, tp = form
    assert run(told(Nccl(dp=dp, pp=pp, tp=tp, sigma=sigma, seed=11), 400)) == []


def test_two_ranks_that_take_turns_at_being_last_are_chance() -> None:
    """Of two, each is last in half of all: 0.6 of thirty is nothing."""
    assert run(told(Nccl(dp=2, per_node=1, sigma=0.2, seed=7), 1000)) == []


def test_step_reports_with_compute_times_speak_for_themselves() -> None:
    job = Nccl(dp=8, sigma=0.05, compute=slow_from(5, 50, 1.4))
    reports = [
        StepReport(
            job="j",
            node="n0",
            ts_us=START_US + i * 2 * S,
            rank=[0],
            step=[i],
            phase=["train"],
            step_s=[2.0],
            compute_s=[1.2],
        )
        for i in range(130)
    ]
    assert run(by_time([*told(job, 130), *reports])) == []


def test_a_slow_link_of_one_group_is_told_as_the_group() -> None:
    found = run(told(Nccl(dp=8, per_node=1, link=slow_from(5, 100, 1.5, until=200)), 260))
    comm = "j/d000000000000000"
    assert shape(found) == [("opened", "comm_slow", comm), ("cleared", "comm_slow", comm)]
    assert "which link is not known: this is the group" in found[0].summary
    assert at_s(found[0]) == 250
    assert found[0].value == pytest.approx(1.5, abs=0.05)


def test_sends_in_both_directions_point_at_the_node() -> None:
    found = run(told(Nccl(dp=4, pp=4, per_node=1, link=slow_from(5, 100, 1.5)), 140))
    assert shape(found) == [("opened", "slow_link", "n5")]
    assert [c.id for c in found[0].candidates][:1] == ["n5"]


def test_groups_that_cross_leave_one_node_over() -> None:
    """Without sends: rank 5's node is in the slow group of its stage and in the slow group of its replica."""
    job = Nccl(dp=4, pp=4, per_node=1, link=slow_from(5, 100, 1.5), replicas=True)
    found = run([_collectives_only(item) for item in told(job, 140)])
    assert shape(found) == [("opened", "slow_link", "n5")]
    assert "2 of 2 communicators with n5 are slow" in found[0].summary


def test_a_path_with_two_ends_is_settled_by_the_slow_groups() -> None:
    found = run(told(Nccl(dp=4, pp=2, tp=4, per_node=4, link=slow_from(5, 100, 1.5)), 140))
    assert shape(found) == [("opened", "slow_link", "n1")]
    assert "of the two only n1 is in slow communicators as well" in found[0].summary


def test_a_late_rank_does_not_make_its_group_slow() -> None:
    found = run(told(Nccl(dp=8, per_node=1, compute=slow_from(5, 100, 2.0)), 200))
    assert [f.cause for f in found] == ["slow_rank"]


def test_a_slow_link_pages_when_the_job_is_a_tenth_slower() -> None:
    small = run(told(Nccl(dp=4, pp=4, per_node=1, link=slow_from(5, 100, 1.5)), 140))
    large = run(told(Nccl(dp=4, pp=4, per_node=1, transfer_s=0.5, link=slow_from(5, 100, 1.5)), 140))
    assert [f.severity for f in small] == ["warning"]
    assert [f.severity for f in large] == ["critical"]


def test_an_end_clears_what_is_open() -> None:
    job = Nccl(dp=8, per_node=1, link=slow_from(5, 100, 1.5))
    end = JobEvent(job="j", ts_us=START_US + 300 * S, kind="ended")
    assert [f.state for f in run([*told(job, 140), end])] == ["opened", "cleared"]


def test_a_restart_of_the_job_clears_what_is_open_once() -> None:
    """Its communicators are gone; the same word told again later clears nothing that opened since."""
    job = Nccl(dp=8, per_node=1, link=slow_from(5, 100, 1.5))
    again = JobEvent(job="j", ts_us=START_US + 300 * S, kind="restarted")
    items = by_time([*told(job, 300), again])
    assert [f.state for f in run(items)] == ["opened", "cleared"]
    assert [f.state for f in run([*told(job, 140), again, again])] == ["opened", "cleared"]


def test_a_slow_link_that_is_open_over_a_restart_is_not_taken_for_normal() -> None:
    """The past by which it is slow is kept: the windows that are read back are all slow ones."""
    items = told(Nccl(dp=8, per_node=1, link=slow_from(5, 100, 1.5, until=400)), 480)
    cut = next(i for i, item in enumerate(items) if item.ts_us > START_US + 400 * S)
    detector = CommDetector()
    state, before = detector.step(detector.fresh(), items[:cut])
    kept = detector.keep(state)
    assert kept is not None
    back = [item for item in items[:cut] if item.ts_us > START_US + 220 * S]
    state, _ = detector.step(detector.restore(kept), back)
    _, after = detector.step(state, items[cut:])
    assert [(f.state, at_s(f)) for f in [*before, *after]] == [("opened", 250), ("cleared", 830)]


def test_ticks_in_any_rhythm_change_nothing() -> None:
    items = told(Nccl(dp=8, sigma=0.05, compute=slow_from(5, 50, 1.4, until=150)), 260)
    ticks: list[Item] = [Tick(START_US + i * S) for i in range(520)]
    assert run(by_time([*items, *ticks])) == run(items)


def _collectives_only(item: Item) -> Item:
    if not isinstance(item, CollectiveWindow) or not any(peer is not None for peer in item.peer):
        return item
    return structs.replace(item, rank=[], seq=[], coll=[], bytes=[], exec_us=[], busbw_gbs=[], peer=[])
