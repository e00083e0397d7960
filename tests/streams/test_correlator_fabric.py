"""Storms, both ends of cables, dead hosts and whole switches: one incident each, with the right root."""

import itertools
import random

import pytest
from msgspec import structs

from collectors.contract.job import JobEvent, Placement
from streams.contract import Finding, Subject
from streams.world import World
from tests.streams.story import T0, S, cleared, found, node, silent
from tests.streams.test_correlator import Run
from tests.streams.test_fabric_joins import cable, port, storm, two_leaves


def with_job(world: World, job: str, *nodes: str) -> World:
    placement = [Placement(rank=r, node=name) for r, name in enumerate(nodes)]
    world.learn(JobEvent(ts_us=T0, job=job, kind="placed", placement=placement))
    return world


def chain() -> list[Finding]:
    """h1 stops taking packets: leaf-a is held at E1 and sends pause up; the spine is held; leaf-b is, at its uplink."""
    return [
        storm("leaf-a", "E1", 2, "receives"),
        storm("leaf-a", "U1", 2.5, "sends"),
        storm("spine-1", "leaf-a-1", 1, "receives"),
        storm("spine-1", "leaf-b-1", 1.5, "sends"),
        storm("leaf-b", "U1", 0, "receives"),
        found("lossless_drop", port("leaf-b", "E5"), 3, "lossless_drop"),
        found("straggler", Subject(kind="rank", id="train/1", job="train", rank=1), 6, "comm_slow", severity="warning"),
    ]


def test_a_storm_on_a_leaf_with_its_way_its_losses_and_its_slow_ranks_is_one_incident_with_one_root() -> None:
    for seed in range(20):
        world = with_job(two_leaves(), "train", "h1", "h5")
        findings = chain()
        random.Random(seed).shuffle(findings)
        run = Run(world)
        for f in findings:
            run.feed(f)
        run.tick(60).tick(95)
        left = list(run.open().values())
        assert [(i.cause_word, i.subject.id, len(i.symptoms)) for i in left] == [("pause_storm", "leaf-a/E1", 6)], seed
        assert (left[0].severity, left[0].jobs) == ("critical", ["train"])
        assert left[0].action.startswith("look at h1, the origin of the pause")


def test_in_order_of_time_a_storm_is_one_page() -> None:
    run = Run(with_job(two_leaves(), "train", "h1", "h5"))
    for f in sorted(chain(), key=lambda f: f.ts_us):
        run.feed(f)
    run.tick(60).tick(95)
    assert [i.state for i in run.told].count("opened") == 1
    assert run.told[-1].subject.id == "leaf-a/E1"


def test_two_storms_of_two_hosts_are_two_incidents() -> None:
    run = Run(two_leaves()).feed(storm("leaf-a", "E1", 0, "receives"), storm("leaf-b", "E5", 1, "receives")).tick(20)
    assert len(run.open()) == 2


def test_a_storm_on_another_priority_is_another_storm() -> None:
    run = Run(two_leaves()).feed(storm("leaf-a", "E1", 0, "receives"), storm("leaf-a", "U1", 1, "sends", 4)).tick(20)
    assert len(run.open()) == 2


def test_a_nic_that_sends_pause_and_the_port_that_receives_it_are_one_incident() -> None:
    for order in itertools.permutations((storm("leaf-a", "E1", 0, "receives"), storm("h1-nic", "p0", 0.5, "sends"))):
        run = Run(two_leaves()).feed(*order).tick(20)
        assert len(run.open()) == 1


def test_storms_that_go_round_in_a_circle_are_one_incident_all_the_same() -> None:
    world = two_leaves()
    ring = [storm("leaf-a", "U1", 0, "receives"), storm("spine-1", "leaf-a-1", 1, "receives")]
    run = Run(world).feed(*ring, found("straggler", node("h9"), 2, "host_slow")).tick(20)
    assert sorted(i.cause_word for i in run.open().values()) == ["host_slow", "pause_storm"]


@pytest.mark.parametrize("cause", ["bad_link", "link_flap", "link_down"])
def test_both_ends_of_a_cable_are_one_incident_whichever_end_told_of_the_cable(cause: str) -> None:
    for a, b in itertools.permutations((port("leaf-a", "E1"), port("h1-nic", "p0"))):
        run = (
            Run(two_leaves())
            .feed(found("fabric_link", a, 0, cause), found("fabric_link", b, 3, cause))
            .tick(20)
            .tick(50)
        )
        assert [len(i.symptoms) for i in run.open().values()] == [1]


def test_a_host_that_died_explains_that_its_cable_went_down() -> None:
    for order in itertools.permutations(
        (found("fabric_link", port("leaf-a", "E1"), 0, "link_down"), silent(node("h1"), 20))
    ):
        run = Run(two_leaves()).feed(*order).tick(60).tick(95)
        assert [(i.cause_word, i.subject.id) for i in run.open().values()] == [("node_silent", "h1")]
        assert [i.state for i in run.told].count("opened") == 1


def test_a_dead_host_takes_its_cable_though_an_earlier_flap_of_it_is_nearer_its_kind() -> None:
    flap, down = (found("fabric_link", port("leaf-a", "E1"), at, "link_down") for at in (0, 2))
    late = silent(node("h1"), 160)
    for order in ((flap, cleared(flap, 1), down, late), (flap, down, cleared(flap, 1), late)):
        (only,) = Run(two_leaves()).feed(*order).tick(200).open().values()
        assert (only.cause_word, only.subject.id, len(only.symptoms)) == ("node_silent", "h1", 1)


def test_what_a_silent_host_explains_stays_with_it_when_the_outage_grows_whenever_it_came() -> None:
    silences = [silent(node(name), n) for n, name in enumerate(("h1", "h5", "h6"))]
    down = found("fabric_link", port("leaf-a", "E1"), 1, "link_down")
    held = storm("leaf-a", "E1", 80, "receives")
    for order in ((*silences[:2], down, silences[2]), (*silences, down), (down, *silences)):
        run = Run(two_leaves()).feed(*order, held).tick(120)
        left = sorted((i.cause_word, len(i.symptoms)) for i in run.open().values())
        assert left == [("fleet_silence", 3), ("pause_storm", 0)]


def test_a_link_that_is_down_waits_for_what_took_it_down_before_it_is_a_ticket() -> None:
    down = found("fabric_link", port("leaf-a", "E1"), 0, "link_down")
    assert [i.cause_word for i in Run(two_leaves()).feed(down).tick(19).told] == []
    assert [i.cause_word for i in Run(two_leaves()).feed(down).tick(20).told] == ["link_down"]
    flaps = structs.replace(down, cause="link_flap", severity="critical")
    assert [i.cause_word for i in Run(two_leaves()).feed(flaps).told] == ["link_flap"]


def test_three_cables_of_one_switch_at_once_are_a_fault_of_the_switch() -> None:
    downs = [found("fabric_link", port("leaf-a", f"E{n}"), n, "link_down") for n in range(4)]
    for order in itertools.permutations(downs):
        run = Run(two_leaves()).feed(*order).tick(40).tick(80)
        (only,) = run.open().values()
        assert (only.subject.kind, only.subject.id, only.cause_word) == ("device", "leaf-a", "link_down")
        assert "4 cables of switch leaf-a at once" in only.summary
        assert only.action.startswith("look at the switch")


def test_in_order_of_time_a_switch_that_lost_its_cables_opens_one_incident() -> None:
    run = Run(two_leaves())
    for n in range(4):
        run.feed(found("fabric_link", port("leaf-a", f"E{n}"), n, "link_down")).tick(n + 0.5)
    run.tick(60)
    assert [i.state for i in run.told].count("opened") == 1


def test_cables_of_one_host_on_three_leaves_that_go_down_at_once_are_a_fault_of_the_host() -> None:
    world = World()
    for rail in range(4):
        world.learn(cable(f"leaf-{rail}", "E1", f"h1-nic{rail}", "p0", node="h1"))
    run = Run(world).feed(*(found("fabric_link", port(f"leaf-{rail}", "E1"), rail, "link_down") for rail in range(4)))
    run.tick(60)
    (only,) = run.open().values()
    assert (only.subject.kind, only.subject.id) == ("node", "h1")


def test_two_cables_of_one_switch_are_two_incidents() -> None:
    downs = [found("fabric_link", port("leaf-a", f"E{n}"), n, "link_down") for n in range(2)]
    assert len(Run(two_leaves()).feed(*downs).tick(40).open()) == 2


def test_three_cables_hours_apart_are_three_incidents() -> None:
    downs = [found("fabric_link", port("leaf-a", f"E{n}"), 7200 * n, "link_down") for n in range(3)]
    assert len(Run(two_leaves()).feed(*downs).tick(20000).open()) == 3


def test_hosts_that_fall_silent_together_below_one_switch_name_the_switch() -> None:
    world = two_leaves()
    from collectors.contract.gpu import Gpu, GpuScrape

    for n in range(8):
        world.learn(GpuScrape(ts_us=T0, node=f"h{n}", gpus=[Gpu(uuid=f"G{n}", index=0)]))
    run = Run(world).feed(*(silent(node(f"h{n}"), n) for n in range(4))).tick(20)
    (only,) = run.open().values()
    assert (only.cause_word, only.subject.kind, only.subject.id) == ("fleet_silence", "device", "leaf-a")
    assert "4 nodes, all of switch leaf-a" in only.summary


def test_a_cable_between_switches_makes_a_job_a_candidate_and_a_ticket_until_the_job_shows_it() -> None:
    run = Run(with_job(two_leaves(), "train", "h0", "h5"))
    run.feed(found("lossless_drop", port("leaf-a", "U1"), 0, "lossless_drop"))
    (only,) = run.open().values()
    assert (only.severity, only.jobs, [c.id for c in only.candidates]) == ("warning", [], ["train"])
    assert "possibly train (20%)" in only.summary
    run.feed(found("straggler", Subject(kind="job", id="train", job="train"), 5, "job_regression")).tick(40)
    (only,) = run.open().values()
    assert (only.severity, only.jobs, only.candidates) == ("critical", ["train"], [])


def test_between_switches_of_a_rail_the_score_is_divided_over_equal_paths() -> None:
    world = World()
    for n in range(4):
        leaf = "leaf-a" if n < 2 else "leaf-b"
        link = cable(leaf, f"E{n}", f"h{n}-nic", "p0", node=f"h{n}")
        world.learn(link.__class__(**{f: getattr(link, f) for f in link.__struct_fields__} | {"rail": 1}))
    for leaf in ("leaf-a", "leaf-b"):
        for spine in (1, 2):
            world.learn(cable(leaf, f"U{spine}", f"spine-{spine}", leaf, far_kind="switch"))
    with_job(world, "train", "h0", "h3")
    run = Run(world).feed(found("lossless_drop", port("leaf-a", "U1"), 0, "lossless_drop"))
    (only,) = run.open().values()
    assert [(c.id, c.score) for c in only.candidates] == [("train", 0.25)]


def test_a_fault_that_hurts_nobody_says_so() -> None:
    run = Run(two_leaves()).feed(found("lossless_drop", port("leaf-a", "E1"), 0, "lossless_drop"))
    (only,) = run.open().values()
    assert (only.severity, only.jobs, only.candidates) == ("warning", [], [])
    assert "; no job on it; " in only.summary


def test_a_storm_ends_when_its_whole_way_is_clear() -> None:
    way = sorted(chain()[:4], key=lambda f: f.ts_us)
    run = Run(two_leaves()).feed(*way).tick(20).feed(*(cleared(f, 100 + n) for n, f in enumerate(way))).tick(200)
    assert [i.state for i in run.told].count("cleared") == [i.state for i in run.told].count("opened")
    assert run.open() == {}
    assert run.told[-1].ts_us == T0 + 163 * S
