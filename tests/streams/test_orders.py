import re

import pytest
from msgspec import structs

from collectors.contract.errors import UserError
from collectors.contract.job import JobEvent, Placement
from collectors.contract.node import NodeState
from streams.contract import Incident, Order, OrderKind
from streams.incident_log import find
from streams.incident_table import count, detail, order_line, table
from streams.orders import MOST_ACKS, OrderBook
from streams.orders_said import duration_us, order, order_id, part
from streams.standing import planned
from tests.streams.story import T0, S, fleet, found, hot, node, port, silent
from tests.streams.test_correlator import Run


def mute(at_s: float, until_s: float, **what: object) -> Order:
    us = T0 + int(at_s * S)
    fields: dict[str, object] = {"id": f"mute/{what}", "kind": "mute", "by": "ann", "until_us": T0 + int(until_s * S)}
    return Order(**{"ts_us": us, **fields, **what})  # type: ignore[arg-type]


def work(at_s: float, until_s: float, *parts: str, from_s: float | None = None) -> Order:
    return Order(
        ts_us=T0 + int(at_s * S),
        id=order_id("maintenance", None, None, parts),
        kind="maintenance",
        parts=list(parts),
        from_us=None if from_s is None else T0 + int(from_s * S),
        until_us=T0 + int(until_s * S),
        by="bob",
        why="new fans",
    )


def ack(incident: str, at_s: float, by: str = "ann") -> Order:
    return Order(ts_us=T0 + int(at_s * S), id=f"ack/{incident}", kind="ack", incident=incident, by=by)


def one(run: Run) -> Incident:
    assert len({i.id for i in run.told}) == 1
    return run.told[-1]


def test_an_incident_that_somebody_has_seen_says_so_at_the_next_tick_with_the_time_it_was_said() -> None:
    run = Run().feed(hot("G01", 0)).tick(1)
    run.correlator.world.learn(ack(run.told[0].id, 5))
    run.tick(6)
    last = one(run)
    assert (last.state, last.acked_by, last.acked_us, last.ts_us) == ("updated", "ann", T0 + 5 * S, T0 + 5 * S)
    run.tick(7).tick(60)
    assert len(run.told) == 2


def test_a_mute_ends_by_itself_and_the_incident_that_is_still_open_is_told() -> None:
    run = Run().feed(hot("G01", 0)).tick(1)
    run.correlator.world.learn(mute(5, 100, incident=run.told[0].id))
    run.tick(6).tick(99).tick(101)
    assert [(i.state, i.muted_until_us, i.muted_by) for i in run.told] == [
        ("opened", None, None),
        ("updated", T0 + 100 * S, "ann"),
        ("updated", None, None),
    ]
    assert one(run).ts_us == T0 + 100 * S


def test_a_mute_that_was_said_before_holds_from_the_first_word() -> None:
    run = Run()
    run.correlator.world.learn(mute(-5, 100, cause="thermal_throttle"))
    run.feed(hot("G01", 0))
    assert (one(run).state, one(run).muted_by) == ("opened", "ann")


def test_unmute_ends_a_mute() -> None:
    run = Run()
    muted = mute(-5, 100, id="mute/x", parts=["node:n0"])
    run.correlator.world.learn(muted)
    run.feed(hot("G01", 0)).tick(1)
    run.correlator.world.learn(Order(ts_us=T0 + 2 * S, id="mute/x", kind="unmute", by="ann"))
    run.tick(3)
    assert [i.muted_by for i in run.told] == ["ann", None]


def test_loss_is_muted_by_its_name_and_never_by_its_place() -> None:
    drop = found("lossless_drop", port("Ethernet2"), 0, "lossless_drop")
    for order_, muted_by in ((mute(-5, 100, parts=["device:leaf1"]), None), (mute(-5, 100, cause=drop.cause), "ann")):
        run = Run()
        run.correlator.world.learn(order_)
        run.feed(drop).tick(1)
        assert one(run).muted_by == muted_by


def test_a_cause_and_a_part_must_both_fit() -> None:
    book = OrderBook()
    book.learn(mute(0, 100, cause="thermal_throttle", parts=["node:n0"]))
    assert book.mute("default", "inc-1", "thermal_throttle", {"node:n0"}, T0 + S) is not None
    assert book.mute("default", "inc-1", "thermal_throttle", {"node:n1"}, T0 + S) is None
    assert book.mute("default", "inc-1", "xid_79", {"node:n0"}, T0 + S) is None
    assert book.mute("other", "inc-1", "thermal_throttle", {"node:n0"}, T0 + S) is None


def test_planned_work_excuses_a_silent_node_until_it_ends() -> None:
    run = Run()
    run.correlator.world.learn(work(-60, 300, "node:n0"))
    run.feed(silent(node("n0"), 0)).tick(15).tick(299).tick(301)
    assert [(i.state, i.planned) for i in run.told] == [
        ("opened", "maintenance of node:n0 by bob until 2027-01-15 08:05 UTC: new fans"),
        ("updated", None),
    ]
    assert one(run).ts_us == T0 + 300 * S


def test_work_that_ends_while_what_it_explained_settles_tells_nobody_of_it() -> None:
    run = Run()
    run.correlator.world.learn(work(-60, 300, "node:n0"))
    gone = silent(node("n0"), 0)
    run.feed(gone).tick(15)
    run.feed(structs.replace(gone, state="cleared", ts_us=T0 + 290 * S)).tick(301).tick(400)
    assert [(i.state, i.planned is None) for i in run.told if i.state != "cleared"] == [("opened", False)]


def test_planned_work_excuses_links_and_silence_and_never_loss_or_heat() -> None:
    world = fleet()
    world.learn(work(-60, 300, "node:n1"))
    causes = ("link_down", "link_flap", "lossless_drop", "bad_link")
    words = [planned(found("fabric", port("Ethernet2"), 0, cause), world, T0) for cause in causes]
    assert [w is not None for w in words] == [True, True, False, False]
    assert planned(hot("G10", 0), world, T0) is None
    assert planned(found("fabric", port("Ethernet0"), 0, "link_down"), world, T0) is None


def test_work_on_a_rack_is_work_on_its_nodes_and_on_their_cables() -> None:
    world = fleet()
    world.learn(NodeState(ts_us=T0, node="n1", source="slurm", rack="r7"))
    world.learn(work(0, 300, "rack:r7"))
    assert planned(silent(node("n1"), 1), world, T0 + S) is not None
    assert planned(found("fabric", port("Ethernet3"), 1, "link_down"), world, T0 + S) is not None
    assert planned(silent(node("n2"), 1), world, T0 + S) is None


def test_work_that_is_planned_for_later_excuses_nothing_yet() -> None:
    world = fleet()
    world.learn(work(0, 300, "node:n1", from_s=100))
    assert [planned(silent(node("n1"), 1), world, T0 + s * S) is not None for s in (99, 100, 299, 300)] == [
        False,
        True,
        True,
        False,
    ]


def test_a_node_that_a_person_drained_is_planned_and_one_that_the_scheduler_closed_is_not() -> None:
    world = fleet()
    said = {"ts_us": T0, "node": "n1", "source": "slurm", "schedulable": False}
    world.learn(NodeState(**said, planned=None, states=["DOWN"]))  # type: ignore[arg-type]
    assert planned(silent(node("n1"), 1), world, T0 + S) is None
    world.learn(NodeState(**{**said, "ts_us": T0 + 1}, planned=True, reason="swap PSU"))  # type: ignore[arg-type]
    assert planned(silent(node("n1"), 1), world, T0 + S) == "slurm says of n1: swap PSU"


def test_a_hang_that_planned_work_brought_about_is_told_all_the_same() -> None:
    run = Run()
    run.correlator.world.learn(work(-60, 300, "node:n0"))
    hang = found("hang", silent(node("n0"), 0).subject, 0, "job_hang_suspected", severity="critical")
    job = hang.subject.__class__(kind="job", id="train", job="train")
    run.feed(silent(node("n0"), 0)).feed(found("hang", job, 3, "job_hang_suspected", severity="critical")).tick(20)
    assert [(i.cause_word, i.planned) for i in run.told] == [("node_silent", None)]


def test_an_older_order_and_one_said_twice_change_nothing() -> None:
    book = OrderBook()
    late, early = mute(5, 100, id="m"), mute(1, 50, id="m")
    assert [book.learn(o) for o in (late, late, early)] == [True, False, False]


def test_orders_are_bounded_and_acks_push_out_no_planned_work() -> None:
    book = OrderBook()
    book.learn(work(0, 9e6, "node:n0"))
    for n in range(1, MOST_ACKS + 10):
        book.learn(ack(f"inc-{n}", n))
    assert len(book.acks) <= MOST_ACKS
    assert book.ack("default", "inc-1") is None
    assert book.ack("default", f"inc-{MOST_ACKS + 9}") is not None
    assert book.work_on("default", {"node:n0"}, T0 + S) is not None


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86400), ("1h30m", 5400), ("1.5h", 5400)]
)
def test_a_duration_is_read_as_people_write_it(text: str, seconds: int) -> None:
    assert duration_us(text) == seconds * S


@pytest.mark.parametrize("text", ["", "2", "h", "2x", "2h!", "-2h", "0s", "2 h"])
def test_what_is_no_duration_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(UserError, match=r"2h|no time"):
        duration_us(text)


@pytest.mark.parametrize("text", ["node-07", "node:", "shelf:3", "port:leaf-3", ":x"])
def test_what_is_no_part_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(UserError, match="write"):
        part(text)


KINDS: tuple[OrderKind, ...] = ("mute", "mute", "unmute")


def test_saying_it_again_replaces_it_and_unmute_has_the_id_of_its_mute() -> None:
    ids = [order(kind, "c", "ann", "", parts=["node:b", "node:a"]).id for kind in KINDS]
    assert ids == ["mute/node:a/node:b"] * 3


def incidents() -> list[Incident]:
    run = Run()
    run.correlator.world.learn(mute(-5, 7200, cause="thermal_throttle"))
    run.feed(hot("G30", 0), found("xid", silent(node("n2"), 1).subject, 1, "xid_79", severity="critical"))
    run.tick(5)
    return run.told


def test_an_incident_is_found_by_the_beginning_of_its_id() -> None:
    known = incidents()
    assert find(known[0].id[4:9], known) == known[0]
    near = re.escape(known[0].id) + r" \(thermal_throttle\)"
    with pytest.raises(UserError, match=rf"inc-zzz: no such incident; there is .*{near}"):
        find("inc-zzz", known)


def test_the_table_has_the_gravest_first_and_counts() -> None:
    run = Run().feed(hot("G30", 0), hot("G01", 1)).tick(5)
    lines = table(run.told, T0 + 65 * S, colour=False)
    assert [line.split()[:4] for line in lines[1:3]] == [
        ["64", "s", "critical", "thermal_throttle"],
        ["65", "s", "warning", "thermal_throttle"],
    ]
    assert lines[-1] == "2 open: 1 critical, 1 for a ticket"
    assert count([]) == "no open incident"


def test_a_muted_incident_is_shown_as_muted() -> None:
    lines = table(incidents(), T0 + 65 * S, colour=True)
    assert any("open, muted by ann until 2027-01-15 10:00 UTC" in line for line in lines)
    assert lines[-1].endswith("1 of them muted or planned")
    assert "\x1b[" in lines[1]


def test_one_incident_in_full_has_what_a_person_needs() -> None:
    text = "\n".join(detail(incidents()[0], T0 + 65 * S))
    assert all(words in text for words in ("thermal_throttle", "gpu n3/", "docs/runbooks/", "jobs      none"))


def test_an_order_reads_as_a_line() -> None:
    assert order_line(work(0, 300, "node:n0"), T0) == (
        "maintenance  node:n0  until 2027-01-15 08:05 UTC  by bob: new fans"
    )


def test_a_job_that_lands_in_planned_silence_does_not_make_it_told() -> None:
    run = Run()
    run.correlator.world.learn(work(-60, 300, "node:n3"))
    run.feed(silent(node("n3"), 0)).tick(15)
    run.correlator.world.learn(
        JobEvent(ts_us=T0 + 16 * S, job="new", kind="placed", placement=[Placement(rank=0, node="n3")])
    )
    run.tick(20).tick(60)
    assert {i.planned is not None for i in run.told} == {True}
