from typing import Any

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent
from collectors.contract.node import NodeState
from streams.causes import causes
from streams.contract import Candidate, Finding, NodeHealth, Subject
from streams.health import Health
from streams.health_book import HealthBook, restore
from streams.health_limits import HealthLimits
from streams.health_points import table
from streams.placements import Named
from tests.streams.story import T0, S, cleared, fleet, found, gpu, hot, node, silent, slow

DAY = 86_400


class Nodes:
    """Health with its book; `told` are all words on nodes so far, `fleetwide` the findings of the guard."""

    def __init__(self, limits: HealthLimits | None = None) -> None:
        self.health, self.book = Health(fleet(), limits or HealthLimits()), HealthBook()
        self.told: list[NodeHealth] = []
        self.fleetwide: list[Finding] = []

    def take(self, said: list[NodeHealth | Finding]) -> "Nodes":
        self.told += [one for one in said if isinstance(one, NodeHealth)]
        self.fleetwide += [one for one in said if isinstance(one, Finding)]
        return self

    def feed(self, *findings: Finding, cause: bool = True) -> "Nodes":
        for f in findings:
            self.take(self.health.step(self.book, f, lambda _: cause))
        return self

    def tick(self, at_s: float, cause: bool = True) -> "Nodes":
        return self.take(self.health.tick(self.book, T0 + int(at_s * S), lambda _: cause))

    def say(self, name: str, at_s: float, **more: Any) -> "Nodes":
        """A scheduler's word, and a tick that hears of it."""
        self.health.world.learn(NodeState(node=name, ts_us=T0 + int(at_s * S), source="slurm", **more))
        return self.tick(at_s)

    def ends(self, job: str, at_s: float) -> "Nodes":
        self.health.world.learn(JobEvent(ts_us=T0 + int(at_s * S), job=job, kind="ended"))
        return self.tick(at_s)

    def last(self, name: str) -> tuple[float, str, bool]:
        said = self.word(name)
        return said.score, said.state, said.schedulable

    def word(self, name: str) -> NodeHealth:
        return [h for h in self.told if h.node == name][-1]

    def way(self, name: str) -> list[tuple[str, str, str, float]]:
        """State, reason code, actor and when (seconds) of each move."""
        moves = {(h.state, h.why, h.actor, (h.since_us - T0) / S): None for h in self.told if h.node == name and h.why}
        return list(moves)


XID: dict[str, Any] = {"severity": "critical"}


def test_every_node_that_was_seen_gets_a_first_word() -> None:
    nodes = Nodes().tick(1).tick(2)
    assert [(h.node, h.score, h.state) for h in nodes.told] == [(f"n{n}", 100.0, "healthy") for n in range(4)]


def test_a_hard_fault_takes_all_points_and_the_node_out() -> None:
    nodes = Nodes().feed(found("xid", gpu("G00"), 0, "xid_79", **XID))
    assert nodes.last("n0") == (0.0, "cordoned", False)
    assert [(r.cause, r.points, r.part) for r in nodes.told[-1].reasons] == [("xid_79", 100.0, "gpu G00")]


def test_a_soft_fault_costs_points_while_it_lasts_and_fades_with_a_half_life_of_a_week() -> None:
    f = hot("G00", 0)
    nodes = Nodes().feed(f)
    assert nodes.last("n0") == (85.0, "healthy", True)
    nodes.feed(cleared(f, 60)).tick(60 + 7 * DAY)
    assert nodes.last("n0") == (92.0, "healthy", True)
    nodes.tick(60 + 60 * DAY)
    assert nodes.last("n0") == (100.0, "healthy", True)
    assert nodes.told[-1].reasons == []


def test_the_node_is_as_bad_as_its_worst_part() -> None:
    nodes = Nodes().feed(hot("G00", 0), found("memory", gpu("G01"), 1, "correctable_ecc_growth"))
    assert nodes.last("n0") == (85.0, "healthy", True)


def test_two_kinds_of_soft_fault_on_one_part_cordon_it() -> None:
    nodes = Nodes().feed(hot("G00", 0), found("memory", gpu("G00"), 60, "correctable_ecc_growth"))
    assert nodes.last("n0") == (75.0, "cordoned", False)


def test_no_more_than_a_share_of_the_nodes_is_taken_out_for_soft_reasons() -> None:
    nodes = Nodes().tick(0)
    for name in ("G00", "G10"):
        nodes.feed(hot(name, 1), found("memory", gpu(name), 2, "correctable_ecc_growth"))
    nodes.feed(hot("G20", 3), found("memory", gpu("G20"), 4, "correctable_ecc_growth"))
    assert [nodes.last(n)[1] for n in ("n0", "n1", "n2")] == ["cordoned", "cordoned", "suspect"]
    assert [(f.state, f.cause, f.value, f.limit) for f in nodes.fleetwide] == [("opened", "fleet_guard", 1.0, 2.0)]


def test_what_a_gpu_did_goes_with_it_when_another_stands_in_its_slot() -> None:
    lost, pending = found("xid", gpu("G00"), 0, "xid_79", **XID), found("memory", gpu("G01"), 0, "row_remap_pending")
    nodes = Nodes().feed(lost, pending, cleared(pending, 10)).tick(20)
    others = [Gpu(uuid=uuid, index=i, pci=f"0000:{i}a:00") for i, uuid in enumerate(("NEW", "G01"))]
    nodes.health.world.learn(GpuScrape(node="n0", ts_us=T0 + 30 * S, gpus=others))
    nodes.feed(cleared(lost, 30)).tick(1000)
    word = nodes.word("n0")
    assert [(r.cause, r.part) for r in word.reasons] == [("row_remap_pending", "gpu G01")]
    assert (word.state, word.cordon) == ("suspect", False)


def test_a_slow_rank_weighs_only_as_the_cause_of_its_incident() -> None:
    assert Nodes().feed(slow(0, 0)).last("n0") == (75.0, "suspect", True)
    nodes = Nodes().feed(slow(0, 0)).tick(5, cause=False)
    assert nodes.last("n0") == (100.0, "suspect", True)
    assert nodes.tick(DAY + 4, cause=False).last("n0") == (100.0, "suspect", True)
    assert nodes.tick(DAY + 6, cause=False).last("n0") == (100.0, "healthy", True)


def test_a_symptom_stays_one_when_its_incident_has_ended() -> None:
    f = slow(0, 0)
    nodes = Nodes().feed(f, cause=False).feed(cleared(f, 60), cause=True).tick(120)
    assert nodes.last("n0") == (100.0, "healthy", True)


def test_a_band_is_left_upwards_only_after_a_while_and_by_a_margin() -> None:
    f = found("xid", gpu("G00"), 0, "xid_79", **XID)
    nodes = Nodes().feed(f).feed(cleared(f, 60))
    assert nodes.last("n0") == (50.0, "cordoned", False)
    nodes.tick(60 + DAY / 2)
    assert nodes.last("n0")[1] == "cordoned"
    nodes.tick(60 + 3 * DAY)
    assert nodes.last("n0") == (63.0, "suspect", True)


def test_a_node_silent_for_ten_minutes_is_unknown_and_keeps_what_was_underneath() -> None:
    nodes = Nodes().feed(silent(node("n2"), 0)).tick(599)
    assert nodes.last("n2") == (100.0, "healthy", True)
    nodes.tick(700)
    assert nodes.last("n2") == (100.0, "unknown", False)
    assert (nodes.word("n2").ts_us - T0) / S == 600
    assert (nodes.word("n2").before, nodes.word("n2").cordon) == ("healthy", False)
    assert nodes.feed(cleared(silent(node("n2"), 0), 800)).last("n2") == (100.0, "healthy", True)


def test_silence_never_heals() -> None:
    f = hot("G00", 0)
    nodes = Nodes().feed(slow(0, 0), f, silent(node("n0"), 10), cleared(f, 20), cleared(slow(0, 0), 20))
    assert nodes.tick(60 * DAY).last("n0") == (100.0, "unknown", False)
    assert nodes.word("n0").before == "cordoned"
    nodes.feed(cleared(silent(node("n0"), 10), 61 * DAY)).tick(61 * DAY + 1)
    assert nodes.last("n0")[1] == "suspect"


def test_a_node_drained_by_a_person_empties_is_repaired_and_proves_itself() -> None:
    nodes = Nodes().tick(0).say("n0", 10, schedulable=False, planned=True, reason="swap fan", by="ann")
    assert nodes.last("n0") == (100.0, "draining", False)
    nodes.ends("train", 100).say("n0", 5000, schedulable=True, planned=False).tick(30 * DAY)
    assert nodes.way("n0") == [
        ("draining", "drained", "person", 10.0),
        ("in_repair", "empty", "person", 100.0),
        ("validating", "returned", "scheduler", 5000.0),
        ("probation", "clean", "lockstep", 8600.0),
        ("healthy", "clean", "lockstep", 8600.0 + 7 * DAY),
    ]
    assert not any(h.cordon for h in nodes.told)


def test_what_was_before_the_repair_is_behind_a_node_that_proved_itself() -> None:
    f = found("xid", gpu("G20"), 0, "xid_79", **XID)
    nodes = Nodes().feed(f)
    assert nodes.word("n2").cordon
    # It is out: the advice is followed, and whoever puts it back is not contradicted by a word of yesterday.
    nodes.say("n2", 60, schedulable=False, planned=True)
    assert (nodes.last("n2"), nodes.word("n2").cordon) == ((0.0, "in_repair", False), False)
    nodes.feed(cleared(f, 600)).say("n2", 700, schedulable=True)
    assert (nodes.last("n2"), nodes.word("n2").cordon) == ((50.0, "validating", True), False)
    nodes.tick(9 * DAY)
    assert nodes.last("n2") == (100.0, "healthy", True)


def test_a_node_that_comes_back_with_its_fault_is_advised_out_again() -> None:
    nodes = Nodes().feed(found("xid", gpu("G20"), 0, "xid_79", **XID))
    nodes.say("n2", 60, schedulable=False).say("n2", 120, schedulable=True)
    assert nodes.way("n2")[-2:] == [
        ("in_repair", "drained", "scheduler", 60.0),
        ("cordoned", "hard_fault", "lockstep", 120.0),
    ]


def test_a_node_taken_out_for_faults_three_times_in_four_weeks_is_a_candidate_for_retirement() -> None:
    nodes = Nodes()
    for day in (0, 8, 16):
        f = found("xid", gpu("G20"), day * DAY, "xid_79", **XID)
        nodes.feed(f).say("n2", day * DAY + 60, schedulable=False).feed(cleared(f, day * DAY + 90))
        nodes.say("n2", day * DAY + 120, schedulable=True)
    states = [state for state, *_ in nodes.way("n2") if state in ("cordoned", "retired_candidate")]
    assert states == ["cordoned", "cordoned", "retired_candidate"]


def test_other_gpus_than_before_burn_in_for_a_day() -> None:
    nodes = Nodes().tick(0).say("n2", 10, schedulable=False, planned=True)
    gpus = [Gpu(uuid=uuid, index=i) for i, uuid in enumerate(("G20", "NEW"))]
    nodes.health.world.learn(GpuScrape(node="n2", ts_us=T0 + 50 * S, gpus=gpus))
    nodes.say("n2", 60, schedulable=True).tick(30 * DAY)
    assert ("probation", "clean", "lockstep", 60.0 + DAY) in nodes.way("n2")


def test_planned_work_ends_at_its_time() -> None:
    nodes = Nodes().tick(0).say("n2", 10, planned=True, until_us=T0 + 3600 * S).tick(4000)
    assert [row[:2] + row[3:] for row in nodes.way("n2")] == [
        ("in_repair", "planned_work", 10.0),
        ("validating", "returned", 3600.0),
    ]


def test_a_scheduler_that_says_nothing_more_opens_nothing() -> None:
    nodes = Nodes().tick(0).say("n2", 10, schedulable=False).say("n2", 60, states=["UNKNOWN"]).tick(30 * DAY)
    assert nodes.last("n2") == (100.0, "in_repair", False)


def test_no_more_nodes_an_hour_are_advised_out_than_the_pace_allows() -> None:
    nodes = Nodes(HealthLimits(guard_per_hour=1, guard_few=4))
    first, second = (found("xid", gpu(uuid), at, "xid_79", **XID) for uuid, at in (("G00", 0), ("G10", 60)))
    nodes.feed(first, second)
    assert (nodes.last("n1"), nodes.word("n1").cordon, nodes.word("n1").why) == (
        (0.0, "suspect", True),
        False,
        "fleet_guard",
    )
    nodes.tick(2 * 3600)
    assert (nodes.last("n1"), (nodes.word("n1").since_us - T0) / S) == ((0.0, "cordoned", False), 3600.0)
    assert [(f.state, f.episode_us) for f in nodes.fleetwide] == [
        ("opened", T0 + 60 * S),
        ("cleared", T0 + 60 * S),
    ]


def test_a_dead_nvlink_is_hard_only_where_the_board_needs_its_fabric() -> None:
    for model, score in (("NVIDIA H100 80GB HBM3", 0.0), ("NVIDIA H100 PCIe", 90.0), (None, 0.0)):
        nodes = Nodes()
        gpus = [Gpu(uuid=f"G2{i}", index=i, model=model) for i in range(2)]
        nodes.health.world.learn(GpuScrape(node="n2", ts_us=T0, gpus=gpus))
        nodes.feed(found("gpu_link", gpu("G20"), 1, "nvlink_down", **XID))
        assert nodes.last("n2")[0] == score, model


def test_a_failed_job_is_attributed_to_the_node_whose_grave_fault_stood_close_by() -> None:
    def ends(state: str) -> Nodes:
        nodes = Nodes().feed(slow(0, 1000), hot("G10", 100))
        nodes.health.world.learn(JobEvent(ts_us=T0 + 1300 * S, job="train", kind="ended", state=state))
        return nodes.tick(1500).tick(1700).tick(1800)

    nodes = ends("failed")
    assert (nodes.last("n0"), nodes.last("n1")[0]) == ((55.0, "suspect", True), 85.0)
    reasons = [(r.cause, r.points, r.part) for r in nodes.word("n0").reasons]
    assert reasons == [("gpu_slow", 25.0, "gpu G00"), ("job_failed", 20.0, "gpu G00")]
    assert (nodes.word("n0").ts_us - T0) / S == 1600
    # Heard again, as after a restart: the same end counts once.
    nodes.health.world.learn(JobEvent(ts_us=T0 + 1300 * S, job="train", kind="ended", state="failed"))
    said = len(nodes.told)
    assert len(nodes.tick(1900).told) == said
    assert [r.cause for r in ends("timeout").word("n0").reasons] == ["gpu_slow"]


def test_one_of_several_parts_that_may_be_meant_weighs_nothing() -> None:
    may_be = [Candidate(kind="gpu", id=uuid, score=0.5, why="shares the link") for uuid in ("G00", "G01")]
    assert Nodes().feed(found("straggler", gpu("G00"), 0, "slow_link", candidates=may_be)).told == []


def test_an_effect_weighs_nothing() -> None:
    assert Nodes().feed(found("straggler", gpu("G00"), 0, "slow_rank")).told == []


def test_the_limits_file_may_weigh_a_cause_otherwise() -> None:
    nodes = Nodes(HealthLimits(points={"thermal_throttle": 60.0})).feed(hot("G00", 0))
    assert nodes.last("n0") == (40.0, "cordoned", False)


def test_every_weight_is_of_a_cause_that_somebody_names() -> None:
    assert set(table()) - set(causes()) == set()


def test_however_many_faults_a_node_has_so_many_are_remembered() -> None:
    nodes = Nodes(HealthLimits(most_marks=8))
    nodes.feed(*(found("gpu_link", gpu("G00"), at, "nvlink_errors") for at in range(40)))
    assert len(nodes.book.nodes[Named("default", "n0")].marks) == 8


def test_info_findings_and_jobs_weigh_nothing() -> None:
    nodes = Nodes().feed(found("xid", gpu("G00"), 0, "xid_13", severity="info"))
    nodes.feed(silent(Subject(kind="job", id="train", job="train"), 0))
    assert nodes.told == []


def test_the_book_survives_its_rows() -> None:
    nodes = Nodes().feed(hot("G00", 0)).tick(1)
    rows = {k: v for k, v in nodes.book.take_changes().items() if v is not None}
    assert restore(rows).nodes == nodes.book.nodes


def test_a_finding_delivered_twice_is_said_once() -> None:
    nodes = Nodes().feed(hot("G00", 0), hot("G00", 0))
    assert len(nodes.told) == 1
