"""Slow ranks: found in the three published shapes of jobs, and nobody else blamed."""

import math
import random
from collections.abc import Sequence

import pytest
from msgspec import structs

from collectors.contract.job import JobEvent, Phase, StepReport
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.straggler import StragglerDetector
from tests.streams.steps import START_US, Job, S, blamed, noisy, run, slow_from

NOISE = {"quiet": 0.007, "noisy": 0.12}


def of(findings: Sequence[Finding], cause: str) -> list[Finding]:
    return [f for f in findings if f.cause == cause and f.state == "opened"]


def story(job: Job) -> list[Message]:
    return [job.placed(), *job.reports()]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("factor", [1.15, 1.3, 2.0])
def test_quiet_groups_of_four_under_a_pipeline(seed: int, factor: float) -> None:
    rank = random.Random(seed).randrange(16)
    job = Job(dp=4, pp=4, compute=noisy(seed, 19.2, 0.007, slow_from(rank, 16, factor)))
    found = run(story(job))
    assert blamed(found) == {rank}
    (edge,) = of(found, "gpu_slow")
    assert edge.value == pytest.approx(factor, rel=0.05)
    steps = [r.ts_us for r in job.reports() if r.node == "n1"]
    assert edge.ts_us == steps[18]


def test_a_rank_slow_from_the_start_is_found_at_its_third_judged_step() -> None:
    job = Job(dp=4, pp=4, compute=noisy(1, 19.2, 0.007, slow_from(0, 0, 2.351)), steps=14)
    (edge,) = of(run(story(job)), "gpu_slow")
    assert edge.ts_us == [r.ts_us for r in job.reports() if r.node == "n1"][12]
    assert (edge.subject.id, edge.subject.node, edge.subject.gpu_uuid) == ("j/0", "n0", "GPU-0")
    told = {e.what: e.value for e in edge.evidence}
    assert told["own compute of rank 0, median"] == pytest.approx(45.1, rel=0.03)
    assert told["own compute of its 3 peers, median"] == pytest.approx(19.2, rel=0.03)
    assert told["wait of rank 0, median"] == pytest.approx(0.2, rel=0.01)
    assert edge.gpu_hours_lost_per_hour == pytest.approx(16 * (1 - 19.4 / 45.3), rel=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_noisy_groups_of_32_need_more_steps(seed: int) -> None:
    rank = random.Random(seed).randrange(64)
    job = Job(dp=32, pp=2, compute=noisy(seed, 5.0, 0.12, slow_from(rank, 16, 1.3)), steps=60)
    assert blamed(run(story(job))) == {rank}


@pytest.mark.parametrize("seed", range(4))
def test_pairs_under_an_unequal_pipeline(seed: int) -> None:
    rank = random.Random(seed).randrange(6)
    plain = noisy(seed, 1.0, 0.01, slow_from(rank, 18, 1.2))
    job = Job(dp=2, pp=4, compute=lambda r, s: plain(r, s) * (1.6 if r >= 6 else 1.0))
    found = run(story(job))
    assert blamed(found) == {rank}
    assert [f.severity for f in of(found, "imbalance_stage")] == ["info"]


@pytest.mark.parametrize(
    ("dp", "pp", "sigma"), [(4, 4, 0.007), (32, 2, 0.12), (32, 2, 0.15), (2, 4, 0.06), (4, 4, 0.15)]
)
@pytest.mark.parametrize("seed", range(6))
def test_noise_alone_blames_nobody(seed: int, dp: int, pp: int, sigma: float) -> None:
    plain = noisy(seed + 50, 3.0, sigma)
    job = Job(dp=dp, pp=pp, compute=lambda r, s: plain(r, s) * (1.6 if r >= dp * (pp - 1) else 1.0), steps=80)
    assert [f for f in run(story(job)) if f.severity != "info"] == []


def test_spikes_blame_nobody() -> None:
    draw = random.Random(8)
    spikes = {(draw.randrange(16), step) for step in range(10, 100)}
    plain = noisy(2, 1.0, 0.01)
    job = Job(dp=4, pp=4, compute=lambda r, s: plain(r, s) * (3.0 if (r, s) in spikes else 1.0), steps=100)
    assert blamed(run(story(job))) == set()


def test_an_unequal_pipeline_is_reported_once_and_never_paged() -> None:
    plain = noisy(3, 1.0, 0.01)
    job = Job(dp=4, pp=2, compute=lambda r, s: plain(r, s) * (1.6 if r >= 4 else 1.0), steps=120)
    found = run(story(job))
    assert [(f.cause, f.severity, f.subject.kind) for f in found] == [("imbalance_stage", "info", "job")]
    assert found[0].value == pytest.approx(1.6, rel=0.02)


def test_unequal_data_is_reported_once_and_never_paged() -> None:
    found = run(story(Job(dp=32, compute=noisy(4, 1.0, 0.12), steps=120)))
    assert [(f.cause, f.severity) for f in found] == [("imbalance_data", "info")]


def test_more_tokens_are_not_slowness() -> None:
    draw = random.Random(5)
    tokens = {(r, s): draw.randrange(2000, 8000) + (4000 if r == 3 else 0) for r in range(8) for s in range(60)}
    job = Job(dp=8, compute=lambda r, s: tokens[r, s] / 2000 * noisy(5, 1.0, 0.01)(r, s), steps=60)
    plain = job.reports()
    told = [structs.replace(m, tokens=[tokens[r, s] for r, s in zip(m.rank, m.step, strict=True)]) for m in plain]
    assert blamed(run([job.placed(), *plain])) == {3}
    assert run([job.placed(), *told]) == []


def test_several_slow_ranks_of_one_node_are_a_slow_host() -> None:
    plain = noisy(6, 1.0, 0.01)
    job = Job(dp=32, compute=lambda r, s: plain(r, s) * (1.3 if r // 8 == 2 and s >= 15 else 1.0), steps=50)
    (edge,) = run(story(job))
    assert (edge.cause, edge.subject.kind, edge.subject.id, edge.subject.job) == ("host_slow", "node", "n2", "j")
    assert edge.evidence[0].value == 8


def test_of_two_peers_the_one_that_left_its_own_past_is_slow() -> None:
    faster = noisy(7, 1.0, 0.005, lambda r, s: 1 / 1.3 if r == 1 and s >= 25 else 1.0)
    found = run(story(Job(dp=2, compute=faster, steps=50)))
    assert [(f.cause, f.severity, f.subject.rank) for f in found] == [("pair_divergence", "info", 0)]
    slower = noisy(7, 1.0, 0.005, slow_from(0, 25, 1.3))
    assert [(f.cause, f.subject.rank) for f in run(story(Job(dp=2, compute=slower, steps=50)))] == [("gpu_slow", 0)]


def test_a_rank_without_peers_is_held_against_its_own_past() -> None:
    job = Job(pp=4, compute=noisy(8, 1.0, 0.01, slow_from(2, 45, 1.3)), steps=70)
    assert blamed(run(story(job))) == {2}


def test_a_job_that_slows_as_a_whole_is_a_regression_of_the_job() -> None:
    plain = noisy(9, 1.0, 0.01)
    job = Job(dp=8, compute=lambda r, s: plain(r, s) * (1.3 if 50 <= s < 90 else 1.0), steps=140)
    found = run(story(job))
    assert [(f.state, f.cause, f.subject.kind) for f in found] == [
        ("opened", "job_regression", "job"),
        ("cleared", "job_regression", "job"),
    ]
    assert found[0].value == pytest.approx(1.25, rel=0.05)


def test_a_swing_of_two_percent_is_no_regression() -> None:
    plain = noisy(10, 1.0, 0.01)
    job = Job(dp=8, compute=lambda r, s: plain(r, s) * (1 + 0.02 * math.sin(s / 40)), steps=300)
    assert run(story(job)) == []


def test_an_open_slow_down_is_not_cleared_by_the_good_steps_before_it() -> None:
    job = Job(dp=8, compute=noisy(27, 1.0, 0.01, slow_from(3, 60, 1.3)), steps=160)
    assert [(f.state, f.subject.rank) for f in run(story(job))] == [("opened", 3)]


def test_it_clears_when_the_rank_keeps_up_again() -> None:
    plain = noisy(11, 1.0, 0.01)
    job = Job(dp=8, compute=lambda r, s: plain(r, s) * (1.5 if r == 3 and 20 <= s < 40 else 1.0), steps=80)
    found = run(story(job))
    assert [(f.state, f.subject.rank) for f in found] == [("opened", 3), ("cleared", 3)]
    assert found[0].episode_us == found[1].episode_us


def test_a_slow_down_that_doubles_is_told_again() -> None:
    plain = noisy(29, 10.0, 0.01)
    job = Job(dp=8, compute=lambda r, s: plain(r, s) * (1.0 if r != 3 or s < 20 else 1.2 if s < 25 else 1.8), steps=80)
    found = run(story(job))
    assert [f.state for f in found] == ["opened", "updated"]
    assert found[1].value == pytest.approx(1.8, rel=0.02)


def test_a_rank_that_recovered_is_not_accused_of_its_old_slow_steps() -> None:
    plain = noisy(28, 1.0, 0.01)
    job = Job(dp=8, compute=lambda r, s: plain(r, s) * (1.5 if r == 3 and 20 <= s < 90 else 1.0), steps=160)
    items = story(job)
    found = run(items)
    assert [(f.state, f.subject.rank) for f in found] == [("opened", 3), ("cleared", 3)]
    detector = StragglerDetector()
    state, before = detector.step(detector.fresh(), items[:108])
    kept = detector.keep(state)
    assert kept is not None
    assert len(before) == 2
    again, warm = detector.step(detector.restore(kept), items[:108])
    assert warm == []
    assert detector.step(again, items[108:])[1] == []


@pytest.mark.parametrize("phase", ["warmup", "eval", "profile", "restart"])
def test_what_is_not_training_is_not_judged(phase: Phase) -> None:
    job = Job(dp=8, compute=noisy(12, 1.0, 0.01, slow_from(3, 0, 2.0)), steps=40)
    assert run([job.placed(), *job.reports(phase=lambda _: phase)]) == []


def test_the_first_ten_steps_and_the_step_after_a_checkpoint_are_not_judged() -> None:
    disturbed = noisy(13, 1.0, 0.01, lambda r, s: 4.0 if r == 3 and (s < 10 or s % 3 == 1) else 1.0)
    job = Job(dp=8, compute=disturbed, steps=60)
    reports = job.reports(phase=lambda s: "checkpoint" if s % 3 == 0 else "train")
    assert run([job.placed(), *reports]) == []


def test_a_checkpoint_event_gates_its_step_and_the_next() -> None:
    job = Job(dp=8, compute=noisy(14, 1.0, 0.01, slow_from(3, 0, 2.0)), steps=16)
    saved = [JobEvent(ts_us=START_US, job="j", kind="checkpoint", step=step) for step in range(10, 15, 2)]
    assert blamed(run([job.placed(), *job.reports()])) == {3}
    assert run([job.placed(), *saved, *job.reports()]) == []


def test_a_silent_rank_is_not_judged() -> None:
    job = Job(dp=8, compute=noisy(15, 1.0, 0.01, slow_from(3, 12, 2.0)), steps=40)
    mute = [
        structs.replace(m, compute_s=[None if r == 3 else c for r, c in zip(m.rank, m.compute_s, strict=True)])
        for m in job.reports()
    ]
    assert run([job.placed(), *mute]) == []


def test_groups_with_too_many_holes_are_told_and_not_judged() -> None:
    job = Job(dp=16, per_node=4, compute=noisy(16, 1.0, 0.01, slow_from(3, 12, 2.0)), steps=60)
    holes = [m for m in job.reports() if m.node != "n3" or m.step[0] < 12]
    found = run([job.placed(), *holes])
    assert [(f.cause, f.severity) for f in found] == [("steps_incomplete", "info")]
    assert found[0].summary.endswith("4 ranks on n3 do not report their steps: 12, 13, 14, 15")


def test_a_job_that_tells_no_compute_is_not_said_to_lack_ranks() -> None:
    job = Job(dp=4, compute=noisy(17, 1.0, 0.01), steps=60)
    bare = [structs.replace(m, compute_s=[]) for m in job.reports()]
    found = run([job.placed(), *bare])
    assert [f.summary for f in found] == [
        "j: its ranks do not report compute of their own, so a slow one cannot be found"
    ]


def test_without_a_placement_the_job_is_one_group() -> None:
    job = Job(dp=8, compute=noisy(17, 1.0, 0.01, slow_from(3, 20, 1.3)))
    (edge,) = run(job.reports())
    assert (edge.subject.rank, edge.subject.node, edge.subject.gpu_uuid) == (3, "n0", None)


def test_nodes_that_report_in_another_order_change_nothing() -> None:
    job = Job(dp=16, per_node=4, compute=noisy(18, 1.0, 0.01, slow_from(3, 20, 1.3)))
    reports = job.reports()
    shuffled = [m for i in range(0, len(reports), 4) for m in random.Random(i).sample(reports[i : i + 4], 4)]
    assert run([job.placed(), *shuffled]) == run([job.placed(), *reports])


def test_everything_twice_changes_nothing() -> None:
    job = Job(dp=8, compute=noisy(19, 1.0, 0.01, slow_from(3, 20, 1.3)), steps=70)
    items = story(job)
    assert run([m for item in items for m in (item, item)]) == run(items)
    assert run([*items, *items]) == run(items)


def test_ticks_in_any_rhythm_change_nothing() -> None:
    job = Job(dp=16, per_node=4, compute=noisy(20, 1.0, 0.01, slow_from(3, 20, 1.3)), steps=60)
    reports = [m for m in job.reports() if m.node != "n3" or m.step[0] != 30]
    dense = [m for report in reports for m in (report, Tick(report.ts_us))]
    assert run([job.placed(), *dense]) == run([job.placed(), *reports])


def test_a_new_attempt_begins_anew_and_a_rank_that_moved_is_no_suspect() -> None:
    job = Job(dp=8, compute=noisy(21, 1.0, 0.01, slow_from(3, 20, 1.3)), steps=40)
    again = Job(dp=8, compute=noisy(22, 1.0, 0.01), steps=40, attempt=1)
    later_us = 3600 * S
    placed = again.placed(START_US + later_us)
    elsewhere = structs.replace(placed, placement=[structs.replace(p, node="n9") for p in placed.placement])
    second = [structs.replace(m, ts_us=m.ts_us + later_us, node="n9") for m in again.reports()]
    found = run([job.placed(), *job.reports(), elsewhere, *second])
    assert [(f.state, f.subject.rank) for f in found] == [("opened", 3), ("cleared", 3)]
    assert found[1].summary == "rank 3 of j moved from n0 to n9"


def test_the_end_of_the_job_ends_its_episodes() -> None:
    job = Job(dp=8, compute=noisy(23, 1.0, 0.01, slow_from(3, 20, 1.3)), steps=40)
    ended = JobEvent(ts_us=job.reports()[-1].ts_us + S, job="j", kind="ended", state="completed")
    found = run([*story(job), ended, *job.reports()[-30:]])
    assert [f.state for f in found] == ["opened", "cleared"]


def test_a_job_long_ended_is_forgotten() -> None:
    detector = StragglerDetector()
    ended = JobEvent(ts_us=START_US, job="j", kind="ended")
    state, _ = detector.step(detector.fresh(), [ended])
    assert detector.keep(state) is not None
    state, _ = detector.step(state, [Tick(START_US + 2 * 3600 * S)])
    assert detector.keep(state) is None


@pytest.mark.parametrize("cut", [100, 180, 260])
def test_a_restart_with_the_last_minutes_read_back_changes_nothing(cut: int) -> None:
    plain = noisy(24, 1.0, 0.01)
    job = Job(
        dp=16, per_node=4, compute=lambda r, s: plain(r, s) * (1.5 if r == 3 and 20 <= s < 60 else 1.0), steps=100
    )
    items = story(job)
    detector = StragglerDetector()
    state, before = detector.step(detector.fresh(), items[:cut])
    kept = detector.keep(state)
    assert kept is not None
    again, warm = detector.step(detector.restore(kept), items[:cut])
    assert warm == []
    assert before + detector.step(again, items[cut:])[1] == run(items, tick=False)


def test_steps_alone_do_not_change_what_is_kept() -> None:
    detector = StragglerDetector()
    state = detector.fresh()
    kept: set[bytes | None] = set()
    for message in Job(dp=8, compute=noisy(25, 1.0, 0.01), steps=50).reports():
        state, _ = detector.step(state, [message])
        kept.add(detector.keep(state))
    assert len(kept) == 1


def test_a_report_of_thousands_of_ranks_is_judged() -> None:
    job = Job(dp=2048, per_node=2048, compute=noisy(26, 1.0, 0.01, slow_from(1999, 14, 1.5)), steps=20)
    assert blamed(run(story(job))) == {1999}


def test_broken_reports_are_survived() -> None:
    broken = StepReport(ts_us=1, job="j", node="n", rank=[0, 1], step=[3], phase=[], compute_s=[0.0])
    assert run([broken, Tick(5)]) == []
