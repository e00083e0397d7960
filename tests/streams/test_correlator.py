import random
from collections.abc import Callable

from collectors.contract.beat import Beat
from collectors.contract.gpu import GpuScrape
from collectors.contract.job import JobEvent, Placement
from streams.contract import Finding, Incident, Subject, finding_key
from streams.correlator import Correlator
from streams.correlator_state import CorrelatorState, restore
from streams.detector import Tick
from streams.world import World
from tests.streams.story import T0, S, cleared, fleet, found, gpu, hot, node, port, silent, slow


class Run:
    """A correlator with its state; `told` are all incidents so far."""

    def __init__(self, world: World | None = None) -> None:
        self.correlator = Correlator(fleet() if world is None else world)
        self.state = CorrelatorState()
        self.told: list[Incident] = []

    def feed(self, *findings: Finding) -> "Run":
        for f in findings:
            self.state, out = self.correlator.step(self.state, (f,))
            self.told += out
        return self

    def tick(self, at_s: float) -> "Run":
        self.state, out = self.correlator.step(self.state, (Tick(T0 + int(at_s * S)),))
        self.told += out
        return self

    def edges(self) -> list[tuple[str, str, str]]:
        return [(i.state, i.cause_word, i.severity) for i in self.told]

    def open(self) -> dict[str, Incident]:
        last = {i.id: i for i in self.told}
        return {k: i for k, i in last.items() if i.state != "cleared"}


def test_a_throttled_gpu_explains_the_slow_rank_on_it() -> None:
    run = Run().feed(hot("G01", 0), slow(1, 5)).tick(40)
    assert run.edges() == [
        ("opened", "thermal_throttle", "critical"),
        ("updated", "thermal_throttle", "critical"),
    ]
    last = run.told[-1]
    assert last.symptoms == [finding_key(slow(1, 5))]
    assert last.jobs == ["train"]
    assert last.gpus == ["G01"]
    assert last.gpu_hours_lost_per_hour == 0.8


def test_a_late_cause_takes_over_the_incident_of_its_symptom_under_the_same_id() -> None:
    run = Run().feed(slow(1, 0)).tick(15).feed(hot("G01", 20))
    assert run.edges() == [("opened", "gpu_slow", "warning"), ("updated", "thermal_throttle", "critical")]
    assert len({i.id for i in run.told}) == 1


def test_a_symptom_waits_for_its_cause_before_it_is_told() -> None:
    run = Run().feed(slow(1, 0)).tick(9).feed(hot("G01", 9.5)).tick(20)
    assert run.edges() == [("opened", "thermal_throttle", "critical")]


def test_a_slow_rank_without_a_cause_is_told_after_the_wait() -> None:
    run = Run().feed(slow(1, 0)).tick(9).tick(12)
    assert [(i.state, i.cause_word, i.ts_us) for i in run.told] == [("opened", "gpu_slow", T0 + 10 * S)]


def test_a_fault_that_outlasted_its_wait_while_time_stood_still_is_told_with_its_end() -> None:
    in_time = Run().feed(slow(1, 0)).tick(12).feed(cleared(slow(1, 0), 50)).tick(100).tick(120)
    at_once = Run().feed(slow(1, 0), cleared(slow(1, 0), 50)).tick(100).tick(120)
    assert at_once.told == in_time.told
    assert [(i.state, i.severity, i.ts_us) for i in at_once.told] == [
        ("opened", "warning", T0 + 10 * S),
        ("cleared", "warning", T0 + 110 * S),
    ]


def test_a_fault_that_ended_within_its_wait_is_told_to_nobody() -> None:
    assert Run().feed(slow(1, 0), cleared(slow(1, 0), 9)).tick(100).tick(120).told == []


def test_findings_of_several_detectors_on_one_gpu_are_one_incident_caused_by_the_hardware() -> None:
    xid = found("xid", Subject(kind="gpu", id="n0/0000:1a:00", node="n0", pci="0000:1a:00"), 4, "xid_79")
    grave = found("xid", xid.subject, 4, "xid_79", severity="critical")
    run = Run().feed(found("memory", gpu("G01"), 0, "remap_pending"), silent(gpu("G01"), 2), grave, slow(1, 6))
    assert list(run.open()) == [run.told[0].id]
    last = run.tick(60).told[-1]
    assert (last.cause_word, last.severity, len(last.symptoms)) == ("xid_79", "critical", 3)
    assert "node n0, GPU 1, PCI 0000:1a:00, G01" in last.summary


def test_a_dropping_port_explains_the_slow_ranks_behind_it_and_is_critical_because_a_job_is_on_it() -> None:
    drop = found("lossless_drop", port("Ethernet2"), 0, "lossless_drop", value=1200.0)
    run = Run().feed(drop, slow(2, 4), slow(0, 4)).tick(50)
    assert [(i.cause_word, i.severity) for i in run.open().values()] == [
        ("lossless_drop", "critical"),
        ("gpu_slow", "warning"),
    ]
    assert run.told[0].gpus == ["G10"]
    assert "leaf1 port Ethernet2, cabled to n1-nic0 p0 in n1" in run.told[0].summary


def test_both_ends_of_a_cable_are_one_incident() -> None:
    far = Subject(kind="port", id="n1-nic0/p0", device="n1-nic0", port="p0", node="n1")
    run = Run().feed(
        found("lossless_drop", port("Ethernet2"), 0, "lossless_drop"),
        found("lossless_drop", far, 3, "lossless_drop"),
    )
    assert len(run.open()) == 1


def test_an_idle_gpu_makes_a_ticket_and_a_job_that_lands_on_it_a_page() -> None:
    run = Run().feed(hot("G30", 0)).tick(1)
    run.correlator.world.learn(
        JobEvent(ts_us=T0 + S, job="late", kind="placed", placement=[Placement(rank=0, node="n3", gpu_uuid="G30")])
    )
    run.tick(40)
    assert run.edges() == [
        ("opened", "thermal_throttle", "warning"),
        ("updated", "thermal_throttle", "critical"),
    ]


def test_severity_never_falls_while_the_incident_is_open() -> None:
    run = Run().feed(hot("G01", 0))
    run.correlator.world.learn(JobEvent(ts_us=T0 + S, job="train", kind="ended"))
    run.tick(40)
    assert {i.severity for i in run.told} == {"critical"}


def test_independent_faults_are_not_merged() -> None:
    run = Run().feed(hot("G00", 0), hot("G01", 1), hot("G10", 2), slow(0, 5), slow(2, 5), slow(1, 6)).tick(60)
    assert sorted((i.subject.id, len(i.symptoms)) for i in run.open().values()) == [
        ("G00", 1),
        ("G01", 1),
        ("G10", 1),
    ]


def test_slow_ranks_of_one_host_are_one_incident_until_a_cause_takes_its_own() -> None:
    run = Run().feed(slow(0, 0), slow(1, 1)).tick(15)
    assert [(i.subject.id, len(i.symptoms)) for i in run.open().values()] == [("train/0", 1)]
    run.feed(hot("G01", 16)).tick(60)
    assert sorted((i.cause_word, i.subject.id, len(i.symptoms)) for i in run.open().values()) == [
        ("gpu_slow", "train/0", 0),
        ("thermal_throttle", "G01", 1),
    ]


def test_a_silent_node_explains_the_silence_of_what_runs_on_it() -> None:
    run = Run().feed(
        silent(Subject(kind="job", id="train", job="train"), 0),
        silent(Subject(kind="collector", id="steps@n0"), 1),
        silent(node("n0"), 2),
        silent(gpu("G00"), 3),
    )
    run.tick(20)
    assert [(i.state, i.subject.id, len(i.symptoms)) for i in run.told] == [("opened", "n0", 3)]


def test_a_silent_collector_elsewhere_explains_the_silence_of_what_it_read() -> None:
    world = fleet()
    world.learn(Beat(ts_us=T0, collector="dcgm@head", source="dcgm", subject="n0"))
    world.learn(Beat(ts_us=T0, collector="dcgm@head", source="dcgm", subject="n1"))
    run = Run(world).feed(
        silent(node("n0"), 0), silent(node("n1"), 1), silent(Subject(kind="collector", id="dcgm@head"), 3)
    )
    run.tick(20)
    assert [(i.state, i.subject.id, i.cause_word, len(i.symptoms)) for i in run.told] == [
        ("opened", "dcgm@head", "collector_silent", 2)
    ]


def test_many_parts_silent_at_one_moment_are_one_incident() -> None:
    run = Run().feed(*(silent(node(f"n{n}"), n) for n in range(4)), silent(Subject(kind="device", id="leaf1"), 5))
    run.tick(20)
    assert [(i.state, i.cause_word, i.severity, len(i.symptoms)) for i in run.told] == [
        ("opened", "fleet_silence", "critical", 4)
    ]
    assert "4 nodes, 1 device" in run.told[0].summary


def test_three_silent_collectors_of_a_thousand_nodes_are_three_tickets_and_ten_are_an_outage() -> None:
    def told(count: int) -> list[str]:
        world = fleet()
        for n in range(1_000):
            world.learn(GpuScrape(node=f"far{n}", ts_us=T0, gpus=[]))
        silence = (silent(Subject(kind="collector", id=f"dcgm@far{n}"), n) for n in range(count))
        run = Run(world).feed(*silence)
        run.tick(30)
        return [i.cause_word for i in run.open().values()]

    assert told(3) == ["collector_silent"] * 3
    assert told(10) == ["fleet_silence"]


def test_power_brakes_at_one_moment_are_one_incident_that_names_them_all() -> None:
    brakes = [found("throttle", node(f"n{n}"), n, "power_brake") for n in range(3)]
    run = Run().feed(*brakes, found("throttle", node("n3"), 60, "power_brake")).tick(100)
    assert sorted((i.subject.id, len(i.symptoms)) for i in run.open().values()) == [("n0", 2), ("n3", 0)]
    assert "also n1, n2" in next(i for i in run.open().values() if i.symptoms).summary


def test_two_nodes_silent_an_hour_apart_are_two_incidents() -> None:
    run = Run().feed(silent(node("n0"), 0)).tick(20).feed(silent(node("n1"), 3600)).tick(3620)
    assert len(run.open()) == 2


def test_a_broken_gpu_explains_that_its_node_went_silent_and_a_hot_one_does_not() -> None:
    xid = found("xid", gpu("G00"), 0, "xid_79", severity="critical")
    assert len(Run().feed(xid, silent(node("n0"), 30)).tick(60).open()) == 1
    assert len(Run().feed(hot("G00", 0), silent(node("n0"), 30)).tick(60).open()) == 2


def test_info_findings_open_nothing() -> None:
    run = Run().feed(found("xid", gpu("G00"), 0, "xid_13", severity="info"), slow(0, 5)).tick(30)
    assert run.edges() == [("opened", "gpu_slow", "warning")]
    assert run.told[0].symptoms == []


def test_an_incident_ends_when_cause_and_symptoms_were_clear_for_a_while() -> None:
    h, s = hot("G01", 0), slow(1, 5)
    run = Run().feed(h, s, cleared(h, 100)).tick(170).tick(200)
    assert len(run.open()) == 1
    run.feed(cleared(s, 210)).tick(269)
    assert len(run.open()) == 1
    run.tick(271)
    last = run.told[-1]
    assert (last.state, last.ts_us, last.cleared_us) == ("cleared", T0 + 270 * S, T0 + 210 * S)


def test_a_flap_within_the_settling_time_is_one_incident() -> None:
    first = hot("G01", 0)
    run = Run().feed(first, cleared(first, 50)).tick(80).feed(hot("G01", 90)).tick(200)
    assert len({i.id for i in run.told}) == 1
    assert len(run.open()) == 1


def test_a_finding_delivered_twice_or_late_changes_nothing() -> None:
    h, s = hot("G01", 0), slow(1, 5)
    once = Run().feed(h, s, cleared(h, 50), cleared(s, 55)).tick(60).tick(200)
    twice = Run().feed(h, h, s, s, h, cleared(h, 50), cleared(s, 55), s, cleared(h, 50)).tick(60).tick(200)
    twice.feed(h, s, cleared(h, 50))
    twice.tick(300)
    assert [(i.id, i.state, i.cause, i.symptoms) for i in once.told] == [
        (i.id, i.state, i.cause, i.symptoms) for i in twice.told
    ]


def test_the_order_of_cause_and_symptoms_does_not_change_the_incidents() -> None:
    findings = [hot("G01", 0), slow(1, 1), slow(0, 1), found("memory", gpu("G01"), 2, "remap_pending")]
    findings += [found("lossless_drop", port("Ethernet2"), 1, "lossless_drop"), slow(2, 3)]
    for seed in range(30):
        mixed = list(findings)
        random.Random(seed).shuffle(mixed)
        run = Run()
        for f in mixed:
            run.feed(f)
        run.tick(60).tick(95)
        groups = sorted((i.cause_word, i.subject.id, sorted(i.symptoms)) for i in run.open().values())
        assert [(g[0], g[1], len(g[2])) for g in groups] == [
            ("gpu_slow", "train/0", 0),
            ("lossless_drop", "leaf1/Ethernet2", 1),
            ("thermal_throttle", "G01", 2),
        ], seed


def test_two_told_incidents_with_one_late_cause_become_one_and_the_other_ends() -> None:
    run = Run().feed(slow(2, 0)).tick(15).feed(hot("G10", 16, severity="warning"))
    first = run.told[0].id
    run = Run().feed(slow(2, 0)).tick(15)
    run.feed(silent(Subject(kind="device", id="n1-nic0", node="n1"), 16)).tick(30)
    assert len(run.open()) == 2
    run.feed(silent(node("n1"), 31))
    run.tick(60)
    assert [i.subject.id for i in run.open().values()] == ["n1"]
    assert first in run.open()
    assert [i.folded_into for i in run.told if i.state == "cleared"] == [first]


def test_the_state_survives_its_rows() -> None:
    whole, halves = Run(), Run()
    rows: dict[str, bytes] = {}
    feed = [hot("G01", 0), slow(1, 5), hot("G10", 8), cleared(hot("G01", 0), 50), cleared(slow(1, 5), 60)]
    for f in feed:
        whole.feed(f).tick((f.ts_us - T0) / S + 1)
        halves.feed(f).tick((f.ts_us - T0) / S + 1)
        for key, row in halves.state.take_changes().items():
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
        halves.state = restore(rows, halves.correlator.world)
    whole.tick(300)
    halves.tick(300)
    assert whole.told == halves.told


def test_a_closed_incident_is_forgotten_in_the_end() -> None:
    h = hot("G01", 0)
    run = Run().feed(h, cleared(h, 10)).tick(100).tick(4000)
    assert (run.state.members, run.state.cases) == ({}, {})


def test_names_of_another_cluster_are_another_part() -> None:
    run = Run().feed(hot("G01", 0), hot("G01", 1, cluster="other"))
    assert len(run.open()) == 2
    assert [i.severity for i in run.open().values()] == ["critical", "warning"]


def anything(rng: random.Random, at_s: float) -> Finding:
    """A finding of any kind on any part of the small fleet."""
    uuid, n = f"G{rng.randrange(4)}{rng.randrange(2)}", rng.randrange(4)
    choices: list[Callable[[], Finding]] = [
        lambda: hot(uuid, at_s),
        lambda: slow(rng.randrange(4), at_s, 1 + rng.random()),
        lambda: silent(node(f"n{n}"), at_s),
        lambda: silent(gpu(uuid), at_s),
        lambda: silent(Subject(kind="device", id="leaf1"), at_s),
        lambda: silent(Subject(kind="collector", id=rng.choice(["dcgm@head", f"steps@n{n}"])), at_s),
        lambda: silent(Subject(kind="job", id="train", job="train"), at_s),
        lambda: found("throttle", node(f"n{n}"), at_s, "power_brake"),
        lambda: found("xid", gpu(uuid), at_s, "xid_79", severity="critical"),
        lambda: found("memory", gpu(uuid), at_s, "uncorrectable_ecc", severity="critical"),
        lambda: found("lossless_drop", port(f"Ethernet{rng.randrange(8)}"), at_s, "lossless_drop"),
        lambda: found("straggler", Subject(kind="job", id="train", job="train"), at_s, "job_regression"),
        lambda: found("straggler", node(f"n{n}"), at_s, "host_slow", severity="critical"),
    ]
    return rng.choice(choices)()


def test_whatever_comes_every_incident_opens_once_ends_once_and_its_rows_are_enough() -> None:
    for seed in range(50):
        rng = random.Random(seed)
        run, rows, now, past = Run(), dict[str, bytes](), 0.0, list[Finding]()
        for _ in range(80):
            now += rng.random() * 15
            f = rng.choice(past) if past and rng.random() < 0.4 else anything(rng, now)
            past.append(f)
            run.feed(cleared(f, now) if rng.random() < 0.3 else f)
            if rng.random() < 0.4:
                run.tick(now)
            if rng.random() < 0.1:
                run.correlator.world.learn(JobEvent(ts_us=T0 + int(now * S), job="train", kind="ended"))
            for key, row in run.state.take_changes().items():
                rows.pop(key, None) if row is None else rows.__setitem__(key, row)
            again = restore(rows, run.correlator.world)
            assert (again.members, again.cases) == (run.state.members, run.state.cases), seed
            if rng.random() < 0.2:
                run.state = again
        for f in past:
            run.feed(cleared(f, now + 1))
        for second in range(1, 200, 5):
            run.tick(now + second)
        states: dict[str, list[str]] = {}
        for i in run.told:
            states.setdefault(i.id, []).append(i.state)
        for edges in states.values():
            assert (edges[0], edges[-1]) == ("opened", "cleared"), seed
            assert set(edges[1:-1]) <= {"updated"}, seed
        run.tick(now + 10_000)
        assert (run.state.members, run.state.cases) == ({}, {}), seed
