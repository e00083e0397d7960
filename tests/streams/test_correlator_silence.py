"""Two nodes that fall silent within a minute: one incident where that is no chance, two where it may be."""

import itertools

import pytest

from collectors.contract.gpu import GpuScrape
from collectors.contract.job import JobEvent, Placement
from collectors.contract.node import NodeState
from streams.contract import Finding, Subject
from streams.world import World
from tests.streams.story import T0, cleared, fleet, found, gpu, node, silent
from tests.streams.test_correlator import Run
from tests.streams.test_fabric_joins import cable

PAIR = (silent(node("n0"), 0), silent(node("n1"), 20))


def large() -> World:
    """A thousand nodes: two fail within a minute of each other by chance once in a month."""
    world = World()
    for n in range(1000):
        world.learn(GpuScrape(node=f"n{n}", ts_us=T0, gpus=[]))
    return world


def with_job(world: World, nodes: int) -> World:
    placement = [Placement(rank=n, node=f"n{n}") for n in range(nodes)]
    world.learn(JobEvent(ts_us=T0, job="big", kind="placed", placement=placement))
    return world


def told(world: World, *findings: Finding) -> list[tuple[str, str, str]]:
    run = Run(world).feed(*findings).tick(200)
    return sorted((i.cause_word, i.subject.id, i.severity) for i in run.open().values())


def test_two_nodes_of_a_small_fleet_are_one_incident_that_names_both() -> None:
    for order in itertools.permutations(PAIR):
        run = Run().feed(*order).tick(40)
        assert [(i.state, i.cause_word, i.severity, i.jobs) for i in run.told] == [
            ("opened", "fleet_silence", "critical", ["train"])
        ]
        assert run.told[0].summary.startswith("silent at the same time: 2 nodes (n0, n1); first node n0; job train")


def test_two_idle_nodes_are_a_ticket_as_one_is() -> None:
    assert told(fleet(), silent(node("n2"), 0), silent(node("n3"), 20)) == [("fleet_silence", "n2", "warning")]


def test_a_second_node_whose_job_is_hurt_makes_it_a_page() -> None:
    assert told(fleet(), silent(node("n2"), 0), silent(node("n1"), 20)) == [("fleet_silence", "n2", "critical")]


def test_two_nodes_more_than_a_minute_apart_are_two_incidents() -> None:
    assert len(told(fleet(), silent(node("n0"), 0), silent(node("n1"), 61))) == 2


def test_two_nodes_of_a_large_fleet_that_share_nothing_are_two_incidents() -> None:
    assert [word for word, _, _ in told(large(), *PAIR)] == ["node_silent", "node_silent"]


def racked(world: World) -> World:
    for n in range(16):
        world.learn(NodeState(ts_us=T0, node=f"n{n}", source="slurm", rack="r1"))
    return world


def cabled(world: World) -> World:
    for n in range(16):
        world.learn(cable("leaf-a", f"E{n}", f"n{n}-nic", "p0", node=f"n{n}"))
    return world


@pytest.mark.parametrize(
    "world", [with_job(large(), 64), racked(large()), cabled(large())], ids=["job", "rack", "switch"]
)
def test_two_nodes_of_a_large_fleet_that_share_a_small_part_of_it_are_one_incident(world: World) -> None:
    (only,) = told(world, *PAIR)
    assert only[:2] == ("fleet_silence", "n0")


def test_two_nodes_of_a_job_as_large_as_a_fleet_are_two_incidents() -> None:
    assert len(told(with_job(large(), 800), *PAIR)) == 2


def test_a_third_node_that_shares_nothing_with_two_that_do_stays_apart_whenever_it_comes() -> None:
    for order in itertools.permutations((*PAIR, silent(node("n900"), 10))):
        assert [told(with_job(large(), 64), *order)[k][:2] for k in (0, 1)] == [
            ("fleet_silence", "n0"),
            ("node_silent", "n900"),
        ]


def test_nodes_that_follow_each_other_within_a_minute_are_one_outage_in_any_order() -> None:
    for order in itertools.permutations(silent(node(f"n{n}"), 50 * n) for n in range(3)):
        assert [i[:2] for i in told(fleet(), *order)] == [("fleet_silence", "n0")]


def test_a_cause_of_one_of_two_silences_takes_that_one_only() -> None:
    lost = found("xid", gpu("G00"), 1, "xid_79", severity="critical")
    for order in itertools.permutations((*PAIR, lost)):
        assert [i[:2] for i in told(fleet(), *order)] == [("node_silent", "n1"), ("xid_79", "G00")]


def test_a_collector_that_read_both_takes_both() -> None:
    world = fleet()
    world.collectors.update({k: {"dcgm@head"} for k in world.nodes if k.name in ("n0", "n1")})
    reader = silent(Subject(kind="collector", id="dcgm@head"), 25)
    for order in itertools.permutations((*PAIR, reader)):
        run = Run(world).feed(*order).tick(40)
        assert [(i.state, i.cause_word, len(i.symptoms)) for i in run.told] == [("opened", "collector_silent", 2)]


def test_a_pair_ends_when_both_report_again() -> None:
    run = Run().feed(*PAIR).tick(40).feed(cleared(PAIR[0], 100)).tick(300)
    assert len(run.open()) == 1
    run.feed(cleared(PAIR[1], 310)).tick(400)
    assert [i.state for i in run.told if i.state != "updated"] == ["opened", "cleared"]
