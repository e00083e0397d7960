"""Each case of a slow job has its own word, its part, its confidence and its cost."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from collectors.contract.job import JobEvent, ModelShape
from collectors.contract.message import Message
from streams.contract import Finding
from tests.streams.steps import START_US, Job, blamed, noisy, run, slow_from


def told(job: Job) -> list[Finding]:
    return run([job.placed(), *job.reports()])


def words(findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    return [(f.cause, f.severity, f.subject.id) for f in findings if f.state == "opened"]


def number(finding: Finding, what: str) -> float | None:
    (value,) = [e.value for e in finding.evidence if e.what == what]
    return value


def test_a_rank_with_long_compute_and_a_host_as_usual_has_a_slow_gpu() -> None:
    cpu = noisy(2, 0.1, 0.02)
    job = Job(dp=8, compute=noisy(1, 1.0, 0.01, slow_from(5, 20, 1.3)), cpu=cpu, data=noisy(3, 0.02, 0.2), steps=30)
    (edge,) = told(job)
    assert words([edge]) == [("gpu_slow", "critical", "j/5")]
    assert (edge.confidence, edge.subject.gpu_uuid) == ("medium", "GPU-5")
    assert number(edge, "host work of rank 5, median") == pytest.approx(0.1, rel=0.1)
    assert edge.slowdown == pytest.approx(1.52 / 1.22, rel=0.03)
    assert edge.gpu_hours_lost_per_hour == pytest.approx(8 * (1 - 1.22 / 1.52), rel=0.05)
    assert number(edge, "share of these steps in which it was the slowest") == 1.0


def test_without_a_word_of_the_host_the_gpu_is_named_with_less_confidence() -> None:
    (edge,) = told(Job(dp=8, compute=noisy(1, 1.0, 0.01, slow_from(5, 20, 1.3)), steps=30))
    assert (edge.cause, edge.confidence) == ("gpu_slow", "low")


def test_a_rank_whose_hosts_work_grew_more_than_its_compute_has_a_slow_host() -> None:
    cpu = noisy(2, 0.1, 0.02, slow_from(5, 20, 2.0))
    (edge,) = told(Job(dp=16, compute=noisy(1, 1.0, 0.01, slow_from(5, 20, 1.3)), cpu=cpu, steps=30))
    assert words([edge]) == [("host_slow", "critical", "n0")]
    assert edge.summary == "rank 5 of j on n0 is slow, up to 29 %; the host's own times are long"
    assert edge.confidence == "medium"


def test_a_slow_host_is_sure_in_noise_that_hides_its_single_ranks() -> None:
    compute = noisy(14, 1.0, 0.12, lambda r, s: 1.3 if r // 8 == 2 and 30 <= s < 60 else 1.0)
    job = Job(dp=64, compute=compute, steps=130)
    edges = [f for f in told(job) if f.severity != "info"]
    assert [(f.state, f.cause, f.subject.id) for f in edges] == [
        ("opened", "host_slow", "n2"),
        ("cleared", "host_slow", "n2"),
    ]
    ends = sorted({m.ts_us for m in job.reports() if m.node == "n7"})
    assert edges[0].ts_us == ends[34]


def test_one_rank_that_is_very_slow_is_no_slow_host() -> None:
    compute = noisy(15, 1.0, 0.02, slow_from(17, 30, 3.0))
    assert words(told(Job(dp=64, compute=compute, steps=50))) == [("gpu_slow", "critical", "j/17")]


@pytest.mark.parametrize("rank", range(8))
def test_one_slow_rank_of_a_node_of_two_is_no_slow_host(rank: int) -> None:
    """The node's median is the mean of both, and its other rank works as ever."""
    found = told(Job(dp=8, per_node=2, compute=noisy(7, 1.0, 0.01, slow_from(rank, 30, 1.5)), steps=50))
    assert words(found) == [("gpu_slow", "critical", f"j/{rank}")]
    assert number(found[0], "share of these steps in which it was the slowest") == 1.0


def test_a_rank_that_waits_for_its_data_has_a_slow_host_though_its_gpu_is_at_par() -> None:
    data = noisy(2, 0.05, 0.1, slow_from(11, 20, 8.0))
    found = told(Job(dp=16, compute=noisy(1, 1.0, 0.01), data=data, steps=30))
    assert words(found) == [("host_slow", "critical", "n1")]
    assert number(found[0], "data wait of rank 11, median") == pytest.approx(0.4, rel=0.2)


def test_a_slow_host_is_found_in_a_job_that_tells_no_compute() -> None:
    data = noisy(2, 0.05, 0.1, slow_from(11, 20, 8.0))
    found = told(Job(dp=16, compute=noisy(1, 1.0, 0.01), data=data, tells_compute=False, steps=30))
    assert ("host_slow", "critical", "n1") in words(found)


def test_a_host_that_works_more_but_holds_nobody_up_is_no_fault() -> None:
    cpu = noisy(2, 0.2, 0.02, slow_from(5, 20, 3.0))
    assert told(Job(dp=16, compute=noisy(1, 1.0, 0.01), cpu=cpu, steps=60)) == []


def test_a_data_wait_of_a_hundredth_of_the_step_is_no_fault_however_it_grows() -> None:
    data = noisy(2, 0.002, 0.1, slow_from(5, 20, 5.0))
    assert told(Job(dp=16, compute=noisy(1, 1.0, 0.01), data=data, steps=60)) == []


def test_a_slow_host_is_over_when_its_data_comes_in_time_again() -> None:
    data = noisy(2, 0.05, 0.1, lambda r, s: 8.0 if r == 11 and 20 <= s < 40 else 1.0)
    found = told(Job(dp=16, compute=noisy(1, 1.0, 0.01), data=data, steps=80))
    assert [(f.state, f.cause) for f in found] == [("opened", "host_slow"), ("cleared", "host_slow")]


def test_a_rank_that_waits_longer_as_well_is_a_ticket_of_low_confidence() -> None:
    job = Job(dp=8, compute=noisy(1, 1.0, 0.01, slow_from(5, 20, 1.3)), steps=30)
    twisted = [
        structs.replace(m, wait_s=[0.9 if r == 5 and m.step[0] >= 20 else 0.3 for r in m.rank]) for m in job.reports()
    ]
    (edge,) = run([job.placed(), *twisted])
    assert (edge.cause, edge.severity, edge.confidence) == ("gpu_slow", "warning", "low")


def slow_network(steps: int, factor: float, share: float, till: int = 10_000) -> Job:
    """Every transfer of stage 1 takes longer from step 40 on."""
    transfer = noisy(4, share, 0.03, lambda r, s: factor if r >= 8 and 40 <= s < till else 1.0)
    return Job(dp=8, pp=2, compute=noisy(5, 1.0, 0.01), transfer=transfer, steps=steps)


def test_transfers_that_grow_for_all_members_at_once_are_slow_communication() -> None:
    (edge,) = told(slow_network(60, 2.0, 0.2))
    assert words([edge]) == [("comm_slow", "critical", "j")]
    assert edge.value == pytest.approx(2.0, rel=0.1)
    assert [(c.kind, c.id) for c in edge.candidates] == [("comm", "j/stage 1, tp 0")]
    assert edge.confidence == "medium"
    step_us = [m.ts_us for m in slow_network(60, 2.0, 0.2).reports() if m.node == "n1"]
    assert edge.ts_us == step_us[42]


def test_slow_communication_of_a_twentieth_of_the_step_is_a_ticket_and_of_a_hundredth_a_record() -> None:
    assert [f.severity for f in told(slow_network(60, 2.0, 0.05))] == ["warning"]
    assert [f.severity for f in told(slow_network(60, 2.0, 0.01))] == ["info"]


def test_slow_communication_is_over_when_the_transfers_are_as_before() -> None:
    found = told(slow_network(120, 2.0, 0.2, till=70))
    assert [(f.state, f.cause) for f in found] == [("opened", "comm_slow"), ("cleared", "comm_slow")]


def test_one_member_with_long_transfers_is_not_the_group() -> None:
    transfer = noisy(4, 0.2, 0.03, slow_from(3, 40, 2.0))
    found = told(Job(dp=8, compute=noisy(5, 1.0, 0.01), transfer=transfer, steps=70))
    assert words(found) == [("job_regression", "warning", "j")]


def test_a_straggler_whose_peers_transfers_hold_its_waiting_is_still_the_straggler() -> None:
    transfer = noisy(4, 0.2, 0.03, lambda r, s: 2.5 if r != 3 and s >= 40 else 1.0)
    compute = noisy(5, 1.0, 0.01, slow_from(3, 40, 1.3))
    assert words(told(Job(dp=8, compute=compute, transfer=transfer, steps=70))) == [("gpu_slow", "critical", "j/3")]


@pytest.mark.parametrize("sigma", [0.02, 0.06])
def test_three_slow_of_four_are_found_in_their_own_past(sigma: float) -> None:
    compute = noisy(6, 1.0, sigma, lambda r, s: 1.4 if r in (0, 1, 2) and s >= 60 else 1.0)
    job = Job(dp=4, pp=4, per_node=1, compute=compute, steps=90)
    assert blamed(told(job)) == {0, 1, 2}


def test_a_group_on_one_host_that_slows_as_one_is_a_slow_host() -> None:
    compute = noisy(7, 1.0, 0.02, lambda r, s: 1.3 if 8 <= r < 16 and s >= 60 else 1.0)
    found = told(Job(dp=8, pp=4, compute=compute, steps=90))
    assert ("host_slow", "critical", "n1") in words(found)
    assert {f.subject.id for f in found if f.severity != "info"} == {"n1"}


@pytest.mark.parametrize("seed", range(6))
def test_a_job_that_slows_as_a_whole_blames_no_rank_however_noisy(seed: int) -> None:
    compute = noisy(seed, 1.0, 0.1, lambda _r, s: 1.25 if s >= 60 else 1.0)
    found = told(Job(dp=4, pp=4, compute=compute, steps=120))
    assert {f.cause for f in found if f.severity != "info"} <= {"job_regression"}


def test_a_regression_says_which_part_of_the_step_grew() -> None:
    data = noisy(8, 0.05, 0.1, lambda _r, s: 8.0 if s >= 50 else 1.0)
    (edge,) = told(Job(dp=8, compute=noisy(9, 1.0, 0.01), data=data, steps=80))
    assert words([edge]) == [("job_regression", "warning", "j")]
    assert [e.what for e in edge.evidence[1:3]] == [
        "waiting for data of a typical rank before, median",
        "waiting for data of a typical rank now, median",
    ]
    assert edge.slowdown == edge.value


def test_data_that_follows_the_work_given_is_imbalance_and_noise_that_does_not_is_none() -> None:
    load = noisy(10, 4096.0, 0.12)
    plain = noisy(11, 1.0, 0.01)
    job = Job(dp=32, compute=lambda r, s: plain(r, s) * load(r, s) / 4096, steps=60)
    fitting = [structs.replace(m, tokens=[int(load(r, m.step[0])) for r in m.rank]) for m in job.reports()]
    (edge,) = run([job.placed(), *fitting])
    assert (edge.cause, edge.severity, edge.confidence) == ("imbalance_data", "info", "medium")
    other = noisy(12, 4096.0, 0.12)
    unrelated = [structs.replace(m, tokens=[int(other(r, m.step[0])) for r in m.rank]) for m in job.reports()]
    assert run([job.placed(), *unrelated]) == []


@pytest.mark.parametrize("slow", [None, 3])
def test_work_that_becomes_unequal_later_accuses_no_healthy_rank(slow: int | None) -> None:
    """As long as all had the same, nothing could be learned of what unequal work costs."""
    uneven = noisy(10, 4096.0, 0.15)
    plain = noisy(11, 1.0, 0.01, lambda r, s: 1.5 if r == slow and s >= 70 else 1.0)

    def tokens(rank: int, step: int) -> float:
        return uneven(rank, step) if step >= 50 else 4096.0

    job = Job(dp=8, compute=lambda r, s: plain(r, s) * tokens(r, s) / 4096, steps=100)
    fitting = [structs.replace(m, tokens=[int(tokens(r, m.step[0])) for r in m.rank]) for m in job.reports()]
    found = run([job.placed(), *fitting])
    assert blamed(found) == ({slow} if slow is not None else set())
    if slow is None:
        assert {f.cause for f in found} == {"job_regression", "imbalance_data"}


def test_a_stage_imbalance_says_what_even_stages_would_save() -> None:
    plain = noisy(3, 1.0, 0.01)
    (edge,) = told(Job(dp=4, pp=4, compute=lambda r, s: plain(r, s) * (1.6 if r >= 12 else 1.0), steps=60))
    assert (edge.cause, edge.severity) == ("imbalance_stage", "info")
    assert edge.slowdown == pytest.approx(1.82 / (1.82 - 0.45), rel=0.03)


def test_a_stage_that_grew_since_the_start_is_no_split_of_the_model() -> None:
    compute = noisy(3, 1.0, 0.01, lambda r, s: 1.0 if r < 12 else 1.5 if s >= 40 else 1.07)
    found = told(Job(dp=4, pp=4, compute=compute, steps=90))
    assert found != []
    assert "imbalance_stage" not in {f.cause for f in found}


def mixed(dtype: str | None) -> list[Message]:
    job = Job(
        dp=8,
        compute=lambda r, s: noisy(13, 1.0, 0.01)(r, s) * (2.5 if r >= 4 else 1.0),
        model_of=lambda r: "NVIDIA A100-SXM4-80GB" if r >= 4 else "NVIDIA H100 80GB HBM3",
        steps=60,
    )
    shape = JobEvent(ts_us=START_US - 1, job="j", kind="started", model=ModelShape(dtype=dtype))
    return [shape, job.placed(), *job.reports()]


def test_models_in_one_role_are_compared_by_what_they_make_of_their_peak() -> None:
    (edge,) = run(mixed("bfloat16"))
    assert (edge.cause, edge.severity, edge.subject.kind) == ("mixed_hardware_inefficiency", "info", "job")
    assert edge.value == pytest.approx(2.5, rel=0.01)
    assert number(edge, "compute x peak(bfloat16) on NVIDIA A100-SXM4-80GB") == pytest.approx(2.5 * 312, rel=0.01)
    assert edge.confidence == "medium"


def test_without_a_dtype_only_the_times_are_compared() -> None:
    (edge,) = run(mixed(None))
    assert (edge.cause, edge.confidence) == ("mixed_hardware_inefficiency", "low")


def test_a_stage_is_named_with_the_virtual_stages_that_it_holds() -> None:
    plain = noisy(3, 1.0, 0.01)
    job = Job(
        dp=4,
        pp=2,
        compute=lambda r, s: plain(r, s) * (1.6 if r >= 4 else 1.0),
        virtual=lambda r: (0, 2) if r < 4 else (1, 3),
        steps=60,
    )
    (edge,) = told(job)
    assert edge.summary.startswith("pipeline stage 1 (virtual stages 1, 3) of j computes 1.60 times as long")


def test_a_replica_with_another_layout_is_not_slow_but_one_that_lags_behind_its_own_layout_is() -> None:
    """Two of four replicas hold three layers more in the first stage, and so less in the second."""

    def work(rank: int, step: int) -> float:
        more = rank % 4 >= 2
        return noisy(16, 1.0, 0.01)(rank, step) * (1.3 if more == (rank < 4) else 1.0)

    def layout(rank: int) -> tuple[int, ...]:
        return (0 if rank < 4 else 1, 2 if rank % 4 >= 2 else 3)

    unknown = Job(dp=4, pp=2, per_node=1, compute=work, steps=60)
    assert blamed(told(unknown)) == {2, 3, 4, 5}
    known = Job(dp=4, pp=2, per_node=1, compute=work, steps=60, virtual=layout)
    assert [f for f in told(known) if f.severity != "info"] == []
    slow = slow_from(6, 30, 1.3)
    late = Job(dp=4, pp=2, per_node=1, compute=lambda r, s: work(r, s) * slow(r, s), steps=60, virtual=layout)
    assert blamed(told(late)) == {6}
