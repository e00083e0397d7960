"""Faults that many parts have in common: the rack, the node as a whole, a job's cause that gets better."""

import itertools

from msgspec import structs

from collectors.contract.fabric import Link
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement
from collectors.contract.node import NodeState
from streams.contract import Subject
from streams.correlation import Correlation
from streams.detectors.all import Choice
from streams.node_states import FleetLimits
from streams.world import World
from tests.streams.story import T0, S, cleared, found, gpu, hot, node, silent, slow
from tests.streams.test_correlator import Run


def racks(gpus: int = 8) -> World:
    """Nodes n0..n3 in rack r1, n4..n7 in r2, eight GPUs each; job `train` on n0 and n1."""
    world = World()
    for n in range(8):
        world.learn(NodeState(ts_us=T0, node=f"n{n}", source="slurm", rack="r1" if n < 4 else "r2"))
        world.learn(GpuScrape(ts_us=T0, node=f"n{n}", gpus=[Gpu(uuid=f"G{n}{i}", index=i) for i in range(gpus)]))
    placement = [Placement(rank=r, node=f"n{r // 8}", gpu_uuid=f"G{r // 8}{r % 8}") for r in range(16)]
    world.learn(JobEvent(ts_us=T0, job="train", kind="placed", placement=placement))
    return world


def test_brakes_of_two_nodes_of_one_rack_are_the_racks_power() -> None:
    brakes = [found("throttle", gpu("G00"), 0, "power_brake"), found("throttle", gpu("G23"), 30, "power_brake")]
    for order in itertools.permutations(brakes):
        run = Run(racks()).feed(*order).tick(40)
        (only,) = run.open().values()
        assert (only.subject.kind, only.subject.id, only.cause_word) == ("rack", "r1", "power_brake")
        assert (only.severity, only.jobs) == ("critical", ["train"])
        assert only.action.startswith("look at the rack's power")


def test_a_cause_of_one_of_two_brakes_takes_that_one_whichever_was_told_first() -> None:
    brakes = [found("throttle", gpu("G00"), 0, "power_brake"), found("throttle", gpu("G23"), 0, "power_brake")]
    lost = found("xid", gpu("G00"), 40, "xid_79", severity="critical")
    for order in itertools.permutations(brakes):
        run = Run(racks()).feed(*order, lost).tick(80)
        left = sorted((i.cause_word, i.subject.id, len(i.symptoms)) for i in run.open().values())
        assert left == [("power_brake", "G23", 0), ("xid_79", "G00", 1)]


def test_brakes_in_two_racks_at_one_moment_are_two_incidents_when_the_racks_are_known() -> None:
    brakes = [found("throttle", node(f"n{n}"), n / 10, "power_brake") for n in (0, 1, 4, 5)]
    run = Run(racks()).feed(*brakes).tick(20)
    assert sorted((i.subject.kind, i.subject.id) for i in run.open().values()) == [("rack", "r1"), ("rack", "r2")]


def test_a_rack_that_brakes_opens_one_incident_however_many_gpus_brake() -> None:
    run = Run(racks())
    for n, i in itertools.product(range(4), range(8)):
        run.feed(found("throttle", gpu(f"G{n}{i}"), n + i / 10, "power_brake"))
    run.tick(60)
    assert [i.state for i in run.told].count("opened") == 1
    (only,) = run.open().values()
    assert (only.subject.id, len(only.symptoms), len(only.gpus)) == ("r1", 31, 32)


def test_three_hot_nodes_of_one_rack_are_the_racks_cooling_and_two_are_two_incidents() -> None:
    hots = [hot(f"G{n}0", n * 2) for n in range(3)]
    for order in itertools.permutations(hots):
        (only,) = Run(racks()).feed(*order).tick(60).open().values()
        assert (only.subject.kind, only.subject.id, only.cause_word) == ("rack", "r1", "thermal_throttle")
        assert only.action.startswith("look at the rack's cooling")
    assert len(Run(racks()).feed(*hots[:2]).tick(60).open()) == 2


def test_hot_nodes_of_different_racks_are_independent() -> None:
    assert len(Run(racks()).feed(hot("G00", 0), hot("G10", 1), hot("G40", 2)).tick(60).open()) == 3


def test_a_second_hot_node_of_a_rack_waits_for_a_third_so_that_three_make_one_incident() -> None:
    run = Run(racks()).feed(hot("G00", 0)).tick(0.5).feed(hot("G10", 2)).tick(3).feed(hot("G20", 4)).tick(60)
    assert [i.state for i in run.told].count("opened") == 1
    alone = Run(racks()).feed(hot("G00", 0)).feed(hot("G10", 2)).tick(6.9).tick(7.1)
    assert [(i.subject.id, i.ts_us) for i in alone.told] == [("G00", T0), ("G10", T0 + 7 * S)]


def test_all_gpus_of_a_node_with_one_fault_are_the_node() -> None:
    run = Run(racks())
    for i in range(8):
        run.feed(hot(f"G0{i}", i / 10))
    run.tick(60)
    (only,) = run.open().values()
    assert (only.subject.kind, only.subject.id, only.subject.node) == ("node", "n0", "n0")
    assert [i.state for i in run.told].count("opened") == 1
    assert "8 GPUs of node n0 at once" in only.summary


def test_three_of_eight_gpus_are_three_incidents() -> None:
    assert len(Run(racks()).feed(*(hot(f"G0{i}", i) for i in range(3))).tick(60).open()) == 3


def test_a_rack_that_falls_silent_is_named() -> None:
    (only,) = Run(racks()).feed(*(silent(node(f"n{n}"), n) for n in range(4))).tick(20).open().values()
    assert (only.cause_word, only.subject.kind, only.subject.id) == ("fleet_silence", "rack", "r1")


def test_a_rack_of_two_nodes_that_are_both_silent_is_the_rack() -> None:
    world = racks()
    for n in range(8):
        world.learn(NodeState(ts_us=T0 + 1, node=f"n{n}", source="slurm", rack=f"r{n // 2}"))
    (only,) = Run(world).feed(silent(node("n2"), 0), silent(node("n3"), 3)).tick(20).open().values()
    assert (only.cause_word, only.subject.kind, only.subject.id) == ("fleet_silence", "rack", "r1")
    (other,) = Run(world).feed(silent(node("n1"), 0), silent(node("n2"), 3)).tick(20).open().values()
    assert (other.cause_word, other.subject.kind) == ("fleet_silence", "node")


def test_silence_of_more_than_a_rack_names_no_rack() -> None:
    (only,) = Run(racks()).feed(*(silent(node(f"n{n}"), n) for n in range(6))).tick(20).open().values()
    assert (only.cause_word, only.subject.kind) == ("fleet_silence", "node")


def test_the_limits_file_names_racks_and_is_believed_before_any_source() -> None:
    limits = FleetLimits(racks={"r9": ("n0", "n4")})
    correlation = Correlation(racks(), choices={"fleet": Choice(limits=limits)})
    for n in (0, 4):
        correlation.feed(found("throttle", node(f"n{n}"), n, "power_brake"))
    correlation.tick(T0 + 20 * S)
    told = [c.told for c in correlation.cases.cases.values() if c.told is not None]
    assert [(i.subject.kind, i.subject.id) for i in told if i.state != "cleared"] == [("rack", "r9")]


def test_a_rack_that_is_learned_late_joins_what_it_explains() -> None:
    world = World()
    for n in range(2):
        world.learn(GpuScrape(ts_us=T0, node=f"n{n}", gpus=[Gpu(uuid=f"G{n}0", index=0)]))
    brakes = [found("throttle", node(f"n{n}"), 30 * n, "power_brake") for n in range(2)]
    run = Run(world).feed(*brakes).tick(35)
    assert len(run.open()) == 2
    for n in range(2):
        world.learn(NodeState(ts_us=T0, node=f"n{n}", source="slurm", rack="r1"))
    run.tick(36).tick(70)
    (only,) = run.open().values()
    assert only.subject.id == "r1"
    assert [i.state for i in run.told].count("opened") == 2


def test_a_verdict_that_gets_better_re_roots_its_incident_without_a_second_page() -> None:
    job = Subject(kind="job", id="train", job="train")
    first = found("hang", job, 0, "job_hang_suspected", severity="critical")
    better = structs.replace(first, state="updated", ts_us=T0 + 60 * S, cause="job_hang_confirmed", summary="rank 3")
    run = Run(racks()).feed(first).tick(15).feed(better).tick(100)
    assert [(i.state, i.cause_word) for i in run.told] == [
        ("opened", "job_hang_suspected"),
        ("updated", "job_hang_confirmed"),
    ]


def test_a_verdict_that_comes_to_name_a_host_joins_what_is_wrong_there() -> None:
    rank = Subject(kind="rank", id="other/3", job="other", rank=3)
    first = found("straggler", rank, 0, "slow_rank")
    run = Run(racks()).feed(first, hot("G50", 5)).tick(20)
    assert len(run.open()) == 2
    placed = structs.replace(rank, node="n5", gpu_uuid="G50")
    run.feed(structs.replace(first, state="updated", ts_us=T0 + 30 * S, subject=placed, cause="gpu_slow"))
    run.tick(60)
    (only,) = run.open().values()
    assert (only.cause_word, len(only.symptoms)) == ("thermal_throttle", 1)


def test_hours_lost_are_those_of_the_detector_where_it_gives_them() -> None:
    told = structs.replace(slow(1, 0, 1.25), gpu_hours_lost_per_hour=2.5)
    run = Run(racks()).feed(told).tick(20)
    assert run.told[-1].gpu_hours_lost_per_hour == 2.5


def test_a_common_fault_ends_when_all_its_parts_are_well() -> None:
    brakes = [found("throttle", node(f"n{n}"), n, "power_brake") for n in range(3)]
    run = Run(racks()).feed(*brakes).tick(20).feed(*(cleared(b, 100 + n) for n, b in enumerate(brakes))).tick(200)
    assert run.open() == {}
    assert run.told[-1].subject.id == "r1"


def test_collectors_of_one_host_that_fall_silent_are_one_incident_and_no_outage_of_the_fleet() -> None:
    collectors = [Subject(kind="collector", id=f"{source}@head") for source in ("dcgm", "gnmi", "steps")]
    (only,) = Run(racks()).feed(*(silent(c, n) for n, c in enumerate(collectors))).tick(20).open().values()
    assert (only.cause_word, len(only.symptoms)) == ("collector_silent", 2)


def test_a_page_says_in_which_rack_and_chassis_the_part_is() -> None:
    world = racks()
    world.learn(NodeState(ts_us=T0 + 1, node="n0", source="slurm", rack="r1", serial="SN-7"))
    run = Run(world).feed(hot("G00", 0))
    assert "; node n0, GPU 0, G00, rack r1, chassis SN-7; job train (16 ranks); " in run.told[0].summary


def test_of_a_rack_and_a_switch_that_all_silent_nodes_share_the_narrower_is_named() -> None:
    world = racks()
    for n in range(7):
        world.learn(Link(ts_us=T0, device="leaf1", port=f"E{n}", far_device=f"n{n}", far_port="p0", node=f"n{n}"))
    run = Run(world).feed(*(silent(node(f"n{n}"), n / 10) for n in range(4))).tick(20)
    (only,) = run.open().values()
    assert (only.subject.kind, only.subject.id, only.cause_word) == ("rack", "r1", "fleet_silence")
