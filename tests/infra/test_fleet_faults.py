"""Faults of links, processes and plans: what moves together in the field moves together here."""

from collections import Counter

import pytest

from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.job import CollectiveWindow, JobEvent, StepReport
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.node import NodeState
from infra.fleet.fault import Fault
from infra.fleet.scenario import parse
from infra.fleet.telemetry import Pair
from infra.fleet.virtual import DEFAULT_START_US, messages
from infra.play import record
from streams.contract import Order

FLEET = """
seconds = 120
[fleet]
nodes = 4
gpus = 4
switches = 4
spines = 2
nvlinks = true
nics = true
interval_s = 2.0
[[jobs]]
name = "train"
nodes = ["node-01..node-03"]
tp = 2
ras = true
"""


def story(kind: str, target: str, more: str = "from_s = 40") -> list[Pair]:
    text = FLEET + f'[[faults]]\nkind = "{kind}"\ntarget = "{target}"\n{more}\n'
    return list(messages(parse(text, "test.toml", "test")))


def at_s(message: Message) -> float:
    return (message.ts_us - DEFAULT_START_US) / 1e6


def last(pairs: list[Pair], device: str, until_s: float = 120) -> PortScrape:
    return [m for _, m in pairs if isinstance(m, PortScrape) and m.device == device and at_s(m) <= until_s][-1]


def grown(pairs: list[Pair], device: str, counter: str, from_s: float, to_s: float) -> list[float]:
    before, after = last(pairs, device, from_s).columns[counter], last(pairs, device, to_s).columns[counter]
    return [float(b or 0) - float(a or 0) for a, b in zip(before, after, strict=True)]


def reports(pairs: list[Pair], from_s: float) -> list[StepReport]:
    return [m for _, m in pairs if isinstance(m, StepReport) and at_s(m) > from_s]


def test_a_slow_link_holds_up_the_ring_of_its_rank_and_no_other() -> None:
    pairs = story("slow_link", "leaf-2/Ethernet0", "from_s = 40\nsize = 0.75")
    by_tp: dict[int, list[float]] = {0: [], 1: []}
    for report in reports(pairs, 60):
        for rank, transfer in zip(report.rank, report.transfer_s, strict=True):
            by_tp[rank % 2].append(transfer or 0.0)
    assert min(by_tp[1]) > 3.0 * max(by_tp[0])  # rail 1 is tensor place 1 of every replica


def test_errors_at_the_switch_alone_are_a_one_sided_link_where_the_nic_is_seen_to_be_well() -> None:
    for nics, words in ((True, {"bad_link", "asymmetric_link"}), (False, {"bad_link"})):
        text = FLEET.replace("seconds = 120", "seconds = 400").replace("nics = true", f"nics = {str(nics).lower()}")
        fault = '[[faults]]\nkind = "bad_link"\ntarget = "leaf-2/Ethernet0"\nfrom_s = 40\n'
        tape = record(parse(text + fault, "test.toml", "test"))
        assert {f.cause for f in tape.findings} == words
        assert {i.cause_word for i in tape.incidents} == {"bad_link"}
        assert len({i.id for i in tape.incidents}) == 1


def test_a_storm_of_pause_stops_its_port_and_spreads_to_the_spines() -> None:
    pairs = story("pause_storm", "leaf-3/Ethernet8")
    held = grown(pairs, "leaf-3", "pfc_rx_pause_us.3", 60, 100)
    sent = grown(pairs, "leaf-3", "queue_tx_packets.3", 60, 100)
    holds = grown(pairs, "leaf-3", "pfc_tx_pause_us.3", 60, 100)
    assert held[1] == pytest.approx(0.97 * 40e6, rel=0.01)
    assert sent[1] == 0.0
    assert max(held[0], *held[2:]) < 1e3 and sent[0] > 0
    assert holds[:4] == [0.0] * 4 and min(holds[4:]) > 0.8 * 40e6  # the uplinks are the last two ports
    for spine in ("spine-1", "spine-2"):
        held = grown(pairs, spine, "pfc_rx_pause_us.3", 60, 100)
        assert [h > 0.8 * 40e6 for h in held] == [False, False, True, False]


def test_a_link_that_flaps_is_down_in_turns_on_both_ends() -> None:
    pairs = story("link_flap", "leaf-1/Ethernet0", "from_s = 40\nto_s = 90\nevery_s = 20\nfor_s = 6")
    said = [(m.kind, round(at_s(m))) for _, m in pairs if isinstance(m, KernelEvent)]
    assert said == [(word, at) for on in (40, 60, 80) for word, at in (("link_down", on), ("link_up", on + 6))]
    up = {round(at_s(m)): m.ports[0].oper_up for _, m in pairs if isinstance(m, PortScrape) and m.device == "leaf-1"}
    assert (up[40], up[44], up[50], up[64], up[100]) == (True, False, True, False, True)
    assert last(pairs, "leaf-1").columns["port_link_down_events"][:2] == [3, 0]


def test_a_narrow_pcie_link_shows_its_width_and_makes_its_rank_wait_for_data() -> None:
    pairs = story("pcie_downtrain", "node-02/1", "from_s = 40\nsize = 4")
    scrape = [m for _, m in pairs if isinstance(m, GpuScrape) and m.node == "node-02"][-1]
    assert scrape.columns["238"] == [16.0, 4.0, 16.0, 16.0]
    data = [r.data_s for r in reports(pairs, 60) if r.node == "node-02"]
    assert min((row[1] or 0) for row in data) > max((row[0] or 0) for row in data)


def test_nvlinks_that_are_down_are_seen_and_hold_up_the_tensor_group() -> None:
    pairs = story("nvlink_down", "node-01/2", "from_s = 40\nsize = 9")
    scrape = [m for _, m in pairs if isinstance(m, GpuScrape) and m.node == "node-01"][-1]
    states = scrape.entities[0].columns["1508"]
    assert [sum(s or 0 for s in states[i * 18 : i * 18 + 18]) for i in range(4)] == [18, 18, 9, 18]
    transfer = [r.transfer_s for r in reports(pairs, 60) if r.node == "node-01"]
    assert min(row[i] or 0 for row in transfer for i in (2, 3)) > 1.5 * max(
        row[i] or 0 for row in transfer for i in (0, 1)
    )


@pytest.mark.parametrize(("kind", "state"), [("rank_hang", "ready"), ("process_dead", "dead")])
def test_a_rank_that_does_not_take_part_stands_behind_and_its_partner_waits_for_it(kind: str, state: str) -> None:
    pairs = story(kind, "node-02/1")  # rank 5: tensor place 1, replica 2
    polls = [m for _, m in pairs if isinstance(m, CollectiveWindow) and m.source == "nccl-ras" and at_s(m) > 80]
    behind = {
        (poll.comm_size, member.host, member.nvml, member.state)
        for poll in polls
        for seq, member in zip(poll.seq, poll.members, strict=True)
        if (seq or 0) < max(s or 0 for s in poll.seq)
    }
    # Both of the replica do not come to the two groups of gradients; only one is missed inside the step.
    assert behind == {(6, "node-02", 0, "ready"), (6, "node-02", 1, state), (2, "node-02", 1, state)}
    assert reports(pairs, 50) == []
    beats = Counter(m.rank for _, m in pairs if isinstance(m, JobEvent) and m.kind == "heartbeat" and at_s(m) > 60)
    assert (beats[5] == 0) is (kind == "process_dead")
    assert beats[4] > 3


def inspector(pairs: list[Pair], from_s: float, name: str = "dp") -> dict[str, list[tuple[int, float]]]:
    """Communicator -> (rank, microseconds) of every operation."""
    out: dict[str, list[tuple[int, float]]] = {}
    for _, m in pairs:
        if isinstance(m, CollectiveWindow) and m.comm_name == name and at_s(m) > from_s:
            row = zip(m.rank, m.exec_us, strict=True)
            out.setdefault(m.comm, []).extend((rank or 0, exec_us or 0.0) for rank, exec_us in row)
    return out


def test_the_replica_of_a_slow_rank_waits_for_nobody_and_no_transfer_grows() -> None:
    transfer_us = min(
        us for rows in inspector(story("slow_gpu", "node-02/1", "from_s = 119"), 20).values() for _, us in rows
    )
    comms = inspector(story("slow_gpu", "node-02/1", "from_s = 40\nsize = 0.5"), 60)  # replica 2
    assert len(comms) == 2
    for rows in comms.values():
        assert max(us for rank, us in rows if rank == 2) < 1.3 * transfer_us
        assert min(us for rank, us in rows if rank != 2) > 3.0 * transfer_us


def test_each_process_tells_its_own_collectives() -> None:
    pairs = story("slow_gpu", "node-02/1", "from_s = 119")
    windows = [m for _, m in pairs if isinstance(m, CollectiveWindow) and m.source == "nccl-inspector"]
    assert {len(m.rank) for m in windows} == {1}
    assert len({(m.node, m.pid) for m in windows}) == 12


def test_processes_of_a_node_that_crashed_are_gone_until_the_job_goes_on_without_it() -> None:
    pairs = story("node_down", "node-02")
    steps = [m for _, m in pairs if isinstance(m, StepReport)]
    assert {m.node for m in steps if at_s(m) < 40} == {"node-01", "node-02", "node-03"}
    assert {(m.node, m.attempt) for m in steps if at_s(m) > 60} == {("node-01", 1), ("node-03", 1)}
    assert not any(isinstance(m, GpuScrape) and m.node == "node-02" and at_s(m) >= 40 for _, m in pairs)
    assert last(pairs, "leaf-1").ports[1].oper_up is False


def test_a_job_that_waits_for_its_storage_is_in_no_collective() -> None:
    text = FLEET + "dump_s = 20\n" + '[[faults]]\nkind = "{}"\ntarget = "{}"\nfrom_s = 40\n'
    for kind, target, waiting in (
        ("storage_hang", "train", 0),
        ("job_hang", "train", 12),
        ("rank_hang", "node-02/1", 11),
    ):
        pairs = messages(parse(text.format(kind, target), "test.toml", "test"))
        dumps = [m for _, m in pairs if isinstance(m, CollectiveWindow) and m.source == "flight-recorder"]
        assert len({m.job_rank for m in dumps}) == 12
        assert len({m.job_rank for m in dumps if "started" in m.state}) == waiting, kind


def test_an_exporter_that_stalls_stops_its_pages_and_nothing_else() -> None:
    pairs = story("exporter_stalled", "node-02")
    late = Counter(type(m).__name__ for _, m in pairs if at_s(m) > 45 and getattr(m, "node", None) == "node-02")
    assert (late["GpuScrape"], late["StepReport"] > 10) == (0, True)


def test_a_switch_that_loses_in_silence_makes_the_hosts_behind_it_retry() -> None:
    pairs = story("grey_loss", "leaf-2", "from_s = 40\nsize = 5")
    for node, busy in (("node-01", True), ("node-04", False)):
        retries = grown(pairs, node, "rdma_ack_timeouts", 60, 110)
        assert [r > 20 for r in retries] == [False, busy, False, False]
    assert grown(pairs, "leaf-2", "queue_drop_packets.3", 0, 120) == [0.0] * 6


def test_what_comes_and_goes_is_at_work_for_its_part_of_each_turn() -> None:
    fault = Fault(kind="ecc_growth", target="node-01/0", size=1.0, from_s=10, to_s=50, every_s=20, for_s=5)
    assert [at for at in range(0, 60, 5) if fault.active(at)] == [10, 30]


def test_plans_and_cordons_are_told_when_they_begin() -> None:
    more = (
        '[[maintenance]]\nparts = ["rack:rack-1"]\nfrom_s = 20\nto_s = 60\n[[cordons]]\nnode = "node-04"\nfrom_s = 30\n'
    )
    pairs = list(messages(parse(FLEET + more, "test.toml", "test")))
    (order,) = (m for _, m in pairs if isinstance(m, Order))
    assert (at_s(order), order.kind, order.parts) == (20.0, "maintenance", ["rack:rack-1"])
    states = [m for _, m in pairs if isinstance(m, NodeState)]
    assert [(m.node, m.rack) for m in states[:4]] == [
        ("node-01", "rack-1"),
        ("node-02", "rack-1"),
        ("node-03", "rack-2"),
        ("node-04", "rack-2"),
    ]
    assert (at_s(states[4]), states[4].node, states[4].planned) == (30.0, "node-04", True)
