"""One physical model: what a fault does to one part is seen in all the others that depend on it."""

from collections import defaultdict
from statistics import mean, median

import pytest

from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.job import CollectiveWindow, JobEvent, StepReport
from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import JOB_EVENTS
from infra.fleet.job import PEAK_FLOPS
from infra.fleet.scenario import Scenario, parse
from infra.fleet.telemetry import Pair
from infra.fleet.virtual import DEFAULT_START_US, messages

FLEET = """
seconds = 90
[fleet]
nodes = 4
gpus = 4
switches = 2
interval_s = 1.0
[[jobs]]
name = "flat"
nodes = ["node-01", "node-02"]
tp = 2
[[jobs]]
name = "deep"
nodes = ["node-03", "node-04"]
tp = 2
pp = 2
checkpoint_every = 20
"""
THROTTLED, HEALTHY = 1, 2
LIFE = ("placed", "started", "ended", "restarted")


def scenario(faults: str = "") -> Scenario:
    return parse(FLEET + faults, "test.toml", "test")


def fault(kind: str, target: str, more: str = "") -> str:
    return f'[[faults]]\nkind = "{kind}"\ntarget = "{target}"\n{more}\n'


def at_s(pair: Pair) -> float:
    return (pair[1].ts_us - DEFAULT_START_US) / 1e6


def scrapes(pairs: list[Pair], node: str) -> list[GpuScrape]:
    return [m for _, m in pairs if isinstance(m, GpuScrape) and m.node == node]


def steps(pairs: list[Pair], job: str, after_s: float = 0.0) -> dict[int, dict[str, dict[int, float]]]:
    """Step -> column -> rank -> value, of steps that ended after that second."""
    out: dict[int, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for pair in pairs:
        m = pair[1]
        if isinstance(m, StepReport) and m.job == job and at_s(pair) > after_s:
            for row, (rank, step) in enumerate(zip(m.rank, m.step, strict=True)):
                for name in ("step_s", "compute_s", "wait_s", "transfer_s", "data_s", "checkpoint_s", "cpu_s"):
                    value = getattr(m, name)[row]
                    assert value is not None
                    out[step][name][rank] = value
    return out


def test_the_same_scenario_gives_the_same_messages() -> None:
    faults = fault("thermal_throttle", "node-01/1", "from_s = 10")
    assert list(messages(scenario(faults), seconds=30)) == list(messages(scenario(faults), seconds=30))


def test_messages_come_in_the_order_of_their_times() -> None:
    times = [m.ts_us for _, m in messages(scenario(fault("gpu_lost", "node-03/1", "from_s = 30")))]
    assert times == sorted(times)


def test_a_fault_changes_no_noise_of_other_parts() -> None:
    plain = list(messages(scenario(), seconds=30))
    faulty = list(messages(scenario(fault("ecc_growth", "node-01/1")), seconds=30))
    assert [s.columns for s in scrapes(plain, "node-02")] == [s.columns for s in scrapes(faulty, "node-02")]


def test_the_parts_of_a_step_add_up_and_end_together() -> None:
    for columns in steps(list(messages(scenario())), "flat").values():
        whole = set(columns["step_s"].values())
        assert len(whole) == 1
        for rank in columns["step_s"]:
            parts = sum(columns[name][rank] for name in ("compute_s", "wait_s", "transfer_s", "data_s", "checkpoint_s"))
            assert parts == pytest.approx(columns["step_s"][rank], abs=1e-4)


def test_a_healthy_job_uses_its_gpus_as_planned() -> None:
    pairs = list(messages(scenario()))
    started = next(m for _, m in pairs if isinstance(m, JobEvent) and m.job == "flat" and m.kind == "started")
    assert started.flops_per_token is not None
    reports = [m for _, m in pairs if isinstance(m, StepReport) and m.job == "flat" and m.phase[0] == "train"]
    tokens = sum(m.tokens[0] or 0 for m in reports if m.node == "node-01") * 4
    seconds = sum(m.step_s[0] or 0.0 for m in reports if m.node == "node-01")
    assert tokens * started.flops_per_token / seconds / (8 * PEAK_FLOPS) == pytest.approx(0.42, abs=0.01)


def test_a_throttled_gpu_is_hotter_slower_and_draws_less() -> None:
    pairs = list(messages(scenario(fault("thermal_throttle", "node-01/1", "from_s = 30"))))
    last = scrapes(pairs, "node-01")[-1].columns
    temp, clock, power, bits = (last[field] for field in ("150", "100", "155", "112"))
    assert min(temp[THROTTLED] or 0, 85) == 85 > (temp[HEALTHY] or 0) + 15
    assert (clock[THROTTLED] or 0) < 0.65 * (clock[HEALTHY] or 0)
    assert (power[THROTTLED] or 0) < (power[HEALTHY] or 0)
    assert [int(b or 0) & 0x20 for b in bits] == [0, 0x20, 0, 0]
    assert last["241"][HEALTHY] == 0.0 < (last["241"][THROTTLED] or 0.0)


def test_a_throttled_rank_computes_longest_and_waits_least_and_its_peers_wait() -> None:
    pairs = list(messages(scenario(fault("thermal_throttle", "node-01/1", "from_s = 30"))))
    late, early = steps(pairs, "flat", 50), steps(pairs, "flat")
    for columns in late.values():
        assert max(columns["compute_s"], key=columns["compute_s"].__getitem__) == THROTTLED
        assert min(columns["wait_s"], key=columns["wait_s"].__getitem__) == THROTTLED
    before = median(early[n]["wait_s"][HEALTHY] for n in range(10, 20))
    assert median(columns["wait_s"][HEALTHY] for columns in late.values()) > before + 0.3


def test_the_last_to_arrive_shows_the_shortest_collective() -> None:
    pairs = list(messages(scenario(fault("thermal_throttle", "node-01/1", "from_s = 10"))))
    windows = [p[1] for p in pairs if isinstance(p[1], CollectiveWindow) and p[1].job == "flat" and at_s(p) > 40]
    assert windows
    shortest: dict[tuple[str, int], tuple[float, str, int]] = {}
    for m in windows:
        for rank, seq, took in zip(m.rank, m.seq, m.exec_us, strict=True):
            assert took is not None and rank is not None and seq is not None
            key = (m.comm, seq)
            shortest[key] = min(shortest.get(key, (took, m.node, rank)), (took, m.node, rank))
    # Rank 1 is data-parallel rank 0 of the second tensor column.
    mine = {comm for comm, _ in shortest if any(m.comm == comm and m.node == "node-01" for m in windows)}
    firsts = [mean(1.0 if shortest[k][2] == 0 else 0.0 for k in shortest if k[0] == comm) for comm in mine]
    assert max(firsts) == 1.0


def test_a_power_brake_slows_every_gpu_of_its_rack_and_no_other() -> None:
    pairs = list(messages(scenario(fault("power_brake", "rack-2", "from_s = 20"))))
    bits = {
        node: {int(b or 0) & 0x80 for b in scrapes(pairs, node)[-1].columns["112"]} for node in ("node-01", "node-04")
    }
    assert bits == {"node-01": {0}, "node-04": {0x80}}


def test_corrected_errors_grow_at_the_rate_that_was_asked_for() -> None:
    pairs = list(messages(scenario(fault("ecc_growth", "node-02/3", "from_s = 30\nsize = 50"))))
    last = scrapes(pairs, "node-02")[-1].columns
    assert last["310"][3] == pytest.approx(50 * 60, rel=0.1)
    assert (last["312"][3] or 0) >= (last["310"][3] or 0)


def test_a_lost_gpu_leaves_the_page_and_its_job_goes_on_without_the_node() -> None:
    pairs = list(messages(scenario(fault("gpu_lost", "node-03/1", "from_s = 30"))))
    pages = scrapes(pairs, "node-03")
    assert (len(pages[0].gpus), len(pages[-1].gpus)) == (4, 3)
    assert [g.hpc_job for g in pages[-1].gpus] == [None, None, None]
    life = [
        (m.kind, m.attempt, m.state, sorted({p.node for p in m.placement}))
        for topic, m in pairs
        if topic is JOB_EVENTS
        and isinstance(m, JobEvent)
        and m.job == "deep"
        and m.kind in ("placed", "started", "ended", "restarted")
    ]
    assert life == [
        ("placed", 0, None, ["node-03", "node-04"]),
        ("started", 0, None, []),
        ("ended", 0, "failed", []),
        ("restarted", 1, None, []),
        ("placed", 1, None, ["node-04"]),
    ]
    codes = [m.code for _, m in pairs if isinstance(m, KernelEvent)]
    assert codes == [79, 154]


def test_a_job_restarts_from_its_last_checkpoint() -> None:
    pairs = list(messages(scenario(fault("ecc_uncorrectable", "node-04/1", "from_s = 50"))))
    events = [m for _, m in pairs if isinstance(m, JobEvent) and m.job == "deep"]
    saved = [m for m in events if m.kind == "checkpoint" and m.attempt == 0]
    restarted = next(m for m in events if m.kind == "restarted")
    assert restarted.step == (saved[-1].step or 0) + 1 == 41
    assert [m.code for _, m in pairs if isinstance(m, KernelEvent)] == [48, 63, 94, 45, 154]
    last = scrapes(pairs, "node-04")[-1].columns
    assert [last[field][1] for field in ("311", "313", "393", "396")] == [1.0, 1.0, 1.0, 1.0]


def test_a_job_that_cannot_go_on_without_a_node_ends() -> None:
    text = FLEET.replace('name = "deep"', 'name = "deep"\nelastic = false')
    text += fault("gpu_lost", "node-03/1", "from_s = 30")
    pairs = list(messages(parse(text, "test.toml", "test")))
    ends = [m.state for _, m in pairs if isinstance(m, JobEvent) and m.job == "deep" and m.kind == "ended"]
    assert ends == ["failed", "node_fail"]
    assert {g.hpc_job for g in scrapes(pairs, "node-04")[-1].gpus} == {None}


def test_an_application_error_is_a_line_in_the_log_and_nothing_else() -> None:
    plain = list(messages(scenario()))
    faulty = list(messages(scenario(fault("xid", "node-01/2", "code = 13\nfrom_s = 20"))))
    events = [m for _, m in faulty if isinstance(m, KernelEvent)]
    assert [(m.code, m.node, m.process) for m in events] == [(13, "node-01", "python3")] * 2
    assert [m for _, m in plain if isinstance(m, StepReport)] == [m for _, m in faulty if isinstance(m, StepReport)]


def test_a_dropping_lossless_port_slows_the_rank_behind_it_and_counts() -> None:
    # leaf-2 carries rails 1 and 3; its third port is rail 1 of node-02: rank 5 of `flat`.
    pairs = list(messages(scenario(fault("lossless_drop", "leaf-2/Ethernet16", "from_s = 20\nsize = 80"))))
    late, early = steps(pairs, "flat", 30), steps(pairs, "flat")
    normal = median(early[n]["transfer_s"][5] for n in range(5, 12))
    assert median(columns["transfer_s"][5] for columns in late.values()) > 1.25 * normal
    assert median(columns["transfer_s"][4] for columns in late.values()) == pytest.approx(normal, rel=0.05)
    ports = [m for _, m in pairs if isinstance(m, PortScrape) and m.device == "leaf-2"]
    drops = [ports[-1].columns["queue_drop_packets.3"][row] for row in range(len(ports[-1].ports))]
    assert [int(d or 0) > 0 for d in drops] == [False, False, True, False, False, False, False, False]


def test_an_imbalanced_stage_is_slow_on_every_replica_from_the_start() -> None:
    pairs = list(messages(scenario(fault("stage_imbalance", "deep/stage-1"))))
    for columns in steps(pairs, "deep", 30).values():
        first, second = ([columns["compute_s"][r] for r in ranks] for ranks in (range(4), range(4, 8)))
        assert min(second) > 1.15 * max(first)


def test_nothing_is_heard_of_a_silent_node_while_its_job_goes_on() -> None:
    pairs = list(messages(scenario(fault("node_silent", "node-02", "from_s = 20\nto_s = 60"))))
    inside = [p for p in pairs if 20 <= at_s(p) < 60]
    assert scrapes(inside, "node-02") == []
    assert {m.node for _, m in inside if isinstance(m, StepReport) and m.job == "flat"} == {"node-01"}
    assert scrapes([p for p in pairs if at_s(p) >= 60], "node-02")


def test_a_hung_job_reports_no_step_but_its_ranks_live() -> None:
    pairs = list(messages(scenario(fault("job_hang", "flat", "from_s = 30\nto_s = 80"))))
    inside = [p for p in pairs if 33 <= at_s(p) < 80]
    assert [m for _, m in inside if isinstance(m, StepReport) and m.job == "flat"] == []
    assert {m.rank for _, m in inside if isinstance(m, JobEvent) and m.job == "flat" and m.kind == "heartbeat"} == set(
        range(8)
    )
    hung = scrapes(inside, "node-01")[-1].columns
    assert [u for u in hung["203"]] == [100.0] * 4
    assert max(t or 0.0 for t in hung["1004"]) == 0.0


def test_a_slow_host_slows_all_its_ranks() -> None:
    pairs = list(messages(scenario(fault("slow_host", "node-02", "from_s = 20"))))
    for columns in steps(pairs, "flat", 30).values():
        assert min(columns["compute_s"][r] for r in range(4, 8)) > 1.2 * max(columns["compute_s"][r] for r in range(4))
