from typing import Any

from streams.contract import Finding, NodeHealth, Subject
from streams.health import Health, HealthBook, restore
from tests.streams.story import T0, S, cleared, fleet, found, gpu, hot, node, silent, slow

DAY = 86_400


class Nodes:
    """Health with its book; `told` are all messages so far."""

    def __init__(self) -> None:
        self.health, self.book = Health(fleet()), HealthBook()
        self.told: list[NodeHealth] = []

    def feed(self, *findings: Finding, cause: bool = True) -> "Nodes":
        for f in findings:
            self.told += self.health.step(self.book, f, lambda _: cause)
        return self

    def tick(self, at_s: float, cause: bool = True) -> "Nodes":
        self.told += self.health.tick(self.book, T0 + int(at_s * S), lambda _: cause)
        return self

    def last(self, name: str) -> tuple[float, str, bool]:
        of_node = [h for h in self.told if h.node == name]
        return of_node[-1].score, of_node[-1].state, of_node[-1].schedulable


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
    nodes = Nodes().feed(hot("G00", 0), found("memory", gpu("G01"), 1, "ecc_growth"))
    assert nodes.last("n0") == (85.0, "healthy", True)


def test_two_kinds_of_soft_fault_on_one_part_cordon_it() -> None:
    nodes = Nodes().feed(hot("G00", 0), found("memory", gpu("G00"), 60, "ecc_growth"))
    assert nodes.last("n0") == (75.0, "cordoned", False)


def test_no_more_than_a_share_of_the_nodes_is_taken_out_for_soft_reasons() -> None:
    nodes = Nodes().tick(0)
    for name in ("G00", "G10"):
        nodes.feed(hot(name, 1), found("memory", gpu(name), 2, "ecc_growth"))
    assert [nodes.last(n)[1] for n in ("n0", "n1")] == ["cordoned", "suspect"]


def test_a_slow_rank_weighs_only_as_the_cause_of_its_incident() -> None:
    assert Nodes().feed(slow(0, 0)).last("n0") == (75.0, "suspect", True)
    nodes = Nodes().feed(slow(0, 0)).tick(5, cause=False)
    assert nodes.last("n0") == (100.0, "suspect", True)
    assert nodes.tick(1200).last("n0") == (100.0, "healthy", True)


def test_a_band_is_left_upwards_only_after_a_while_and_by_a_margin() -> None:
    f = found("xid", gpu("G00"), 0, "xid_79", **XID)
    nodes = Nodes().feed(f).feed(cleared(f, 60))
    assert nodes.last("n0") == (50.0, "cordoned", False)
    nodes.tick(60 + DAY / 2)
    assert nodes.last("n0")[1] == "cordoned"
    nodes.tick(60 + 3 * DAY)
    assert nodes.last("n0") == (63.0, "suspect", True)


def test_a_node_silent_for_ten_minutes_is_unknown_and_gets_no_work() -> None:
    nodes = Nodes().feed(silent(node("n2"), 0)).tick(599)
    assert nodes.last("n2") == (100.0, "healthy", True)
    nodes.tick(601)
    assert nodes.last("n2") == (100.0, "unknown", False)


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
