"""A lane to Kafka loses nothing and keeps its order, whatever Kafka does; the outlet reports on itself."""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.beat import Beat
from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import COLLECTOR_BEATS, KERNEL_EVENTS
from collectors.outlet import StdoutOutlet
from collectors.outlet_lane import Lane, LaneLimits, Outcome
from collectors.outlet_reject import Bad, RejectLimit
from collectors.spool import Record, Spool


class Broker:
    """Kafka and its client, by hand: holds what it was given until told what became of it."""

    def __init__(self) -> None:
        self.held: deque[tuple[Record, Callable[[Outcome], None]]] = deque()
        self.arrived: list[Record] = []
        self.full = False
        self.now_s = 0.0

    def send(self, record: Record, report: Callable[[Outcome], None]) -> Outcome | None:
        if self.full:
            return Outcome.FAILED
        self.held.append((record, report))
        return None

    def answer(self, outcome: Outcome, count: int = 1 << 30) -> None:
        for _ in range(min(count, len(self.held))):
            one, report = self.held.popleft()
            if outcome is Outcome.DELIVERED:
                self.arrived.append(one)
            report(outcome)


def record(number: int) -> Record:
    return Record(b"key", b"%06d" % number)


def lane_of(broker: Broker, folder: Path, window_bytes: int = 1 << 20, spool_bytes: int = 1 << 20) -> Lane:
    limits = LaneLimits(window_bytes=window_bytes, after_s=2.0, retry_s=1.0)
    return Lane(broker.send, Spool(folder, spool_bytes, segment_bytes=200), limits, lambda: broker.now_s)


def settle(broker: Broker, lane: Lane, rounds: int = 200) -> None:
    """Kafka is well: let everything go through."""
    for _ in range(rounds):
        broker.now_s += 1.0
        broker.answer(Outcome.DELIVERED)
        lane.tick()


def test_while_kafka_answers_nothing_touches_the_disk(tmp_path: Path) -> None:
    broker = Broker()
    lane = lane_of(broker, tmp_path)
    for n in range(10):
        lane.offer(record(n))
        broker.answer(Outcome.DELIVERED)
    assert broker.arrived == [record(n) for n in range(10)]
    assert list(tmp_path.iterdir()) == []


def test_a_message_that_waits_too_long_is_put_on_disk(tmp_path: Path) -> None:
    broker = Broker()
    lane = lane_of(broker, tmp_path)
    lane.offer(record(0))
    broker.now_s = 2.5
    lane.tick()
    lane.offer(record(1))
    assert lane.away
    assert lane.spool.waiting == 2
    assert [one for one, _ in broker.held] == [record(0)]


def test_after_an_outage_everything_arrives_once_and_in_order(tmp_path: Path) -> None:
    broker = Broker()
    lane = lane_of(broker, tmp_path)
    for n in range(300):
        lane.offer(record(n))
        broker.now_s += 0.1
        lane.tick()
    settle(broker, lane)
    assert broker.arrived == [record(n) for n in range(300)]
    assert not lane.away
    assert lane.spool.waiting == 0


def test_a_failed_delivery_is_tried_again_before_what_came_later(tmp_path: Path) -> None:
    broker = Broker()
    lane = lane_of(broker, tmp_path)
    for n in range(3):
        lane.offer(record(n))
    broker.answer(Outcome.FAILED)
    lane.offer(record(3))
    settle(broker, lane)
    assert broker.arrived == [record(n) for n in range(4)]


def test_a_full_client_queue_sends_messages_over_the_disk(tmp_path: Path) -> None:
    broker = Broker()
    lane = lane_of(broker, tmp_path)
    lane.offer(record(0))
    broker.full = True
    lane.offer(record(1))
    broker.full = False
    lane.offer(record(2))
    settle(broker, lane)
    assert broker.arrived == [record(n) for n in range(3)]


def test_a_refused_message_is_counted_as_lost_and_does_not_block_the_next(tmp_path: Path) -> None:
    broker = Broker()
    lane = lane_of(broker, tmp_path)
    lane.offer(record(0))
    lane.offer(record(1))
    broker.answer(Outcome.REFUSED, 1)
    settle(broker, lane)
    assert broker.arrived == [record(1)]
    assert lane.lost == 1


def test_no_more_than_the_window_waits_in_memory(tmp_path: Path) -> None:
    broker = Broker()
    lane = lane_of(broker, tmp_path, window_bytes=60)
    for n in range(100):
        lane.offer(record(n))
    assert len(broker.held) == 10
    settle(broker, lane)
    assert broker.arrived == [record(n) for n in range(100)]


def test_a_process_killed_in_an_outage_loses_nothing_that_was_on_disk(tmp_path: Path) -> None:
    broker = Broker()
    lane = lane_of(broker, tmp_path)
    lane.offer(record(0))
    broker.now_s = 3.0
    lane.tick()
    for n in range(1, 50):
        lane.offer(record(n))
    after = Broker()
    settle(after, lane_of(after, tmp_path))
    assert after.arrived == [record(n) for n in range(50)]


def test_a_full_spool_keeps_the_oldest_and_counts_what_it_lost(tmp_path: Path) -> None:
    broker = Broker()
    broker.full = True
    lane = lane_of(broker, tmp_path, spool_bytes=1000)
    for n in range(200):
        lane.offer(record(n))
    broker.full = False
    settle(broker, lane)
    assert lane.lost > 0
    assert broker.arrived == [record(n) for n in range(200 - lane.lost)]


STEPS = st.sampled_from(["offer", "deliver", "deliver one", "fail", "wait", "tick", "full", "roomy"])


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=80))
def test_whatever_kafka_does_each_message_arrives_and_first_arrivals_are_in_order(steps: list[str]) -> None:
    with TemporaryDirectory() as folder:
        broker, offered = Broker(), 0
        lane = lane_of(broker, Path(folder), window_bytes=40)
        for step in steps:
            if step == "offer":
                lane.offer(record(offered))
                offered += 1
            elif step == "deliver":
                broker.answer(Outcome.DELIVERED)
            elif step == "deliver one":
                broker.answer(Outcome.DELIVERED, 1)
            elif step == "fail":
                broker.answer(Outcome.FAILED)
            elif step == "wait":
                broker.now_s += 1.0
            elif step == "tick":
                lane.tick()
            else:
                broker.full = step == "full"
        broker.full = False
        settle(broker, lane, 100)
        assert broker.arrived == [record(n) for n in range(offered)]
        assert (lane.lost, lane.spool.waiting, lane.in_flight) == (0, 0, 0)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["offer", "deliver one", "fail", "wait", "tick", "kill"]), max_size=80))
def test_a_kill_loses_only_what_was_not_on_disk_and_not_acknowledged(steps: list[str]) -> None:
    with TemporaryDirectory() as folder:
        broker, offered = Broker(), 0
        lane = lane_of(broker, Path(folder), window_bytes=40)
        gone: set[Record] = set()
        for step in steps:
            if step == "offer":
                lane.offer(record(offered))
                offered += 1
            elif step == "deliver one":
                broker.answer(Outcome.DELIVERED, 1)
            elif step == "fail":
                broker.answer(Outcome.FAILED)
            elif step == "wait":
                broker.now_s += 3.0
            elif step == "tick":
                lane.tick()
            elif step == "kill":
                on_disk = {one for _, one in Spool(Path(folder), 1 << 20).take(1 << 30)}
                gone |= {one for one, _ in broker.held} - on_disk
                broker.held.clear()
                lane = lane_of(broker, Path(folder), window_bytes=40)
        settle(broker, lane, 100)
        assert set(broker.arrived) | gone >= {record(n) for n in range(offered)}


def event(**more: object) -> KernelEvent:
    return KernelEvent(ts_us=1, node="n1", kind="xid", **more)  # type: ignore[arg-type]


def test_standard_output_gets_one_envelope_a_message_and_no_beats() -> None:
    lines: list[bytes] = []
    said: list[str] = []
    outlet = StdoutOutlet(lines.append, said.append)
    outlet.publish(KERNEL_EVENTS, event(code=79))
    outlet.beat(Beat(ts_us=1, collector="kernel@n1", source="kernel"))
    assert [line.split(b",")[0] for line in lines] == [b'{"topic":"kernel.events.v1"']
    assert said == []


def test_a_failed_beat_and_bad_bytes_are_lines_on_standard_error() -> None:
    said: list[str] = []
    outlet = StdoutOutlet(lambda _: None, said.append)
    outlet.beat(Beat(ts_us=1, collector="c", source="dcgm", target="http://a", ok=False, error="refused"))
    outlet.reject("dcgm:http://a", b"<html>\xff", "not an exposition")
    assert said == ["http://a: refused", "dcgm:http://a: not an exposition: '<html>\\\\xff'"]
    assert outlet.failures == 2


def test_the_first_bad_bytes_are_reported_at_once_and_the_rest_counted() -> None:
    limit = RejectLimit(every_s=10.0)
    assert limit.offer("a", b"1", "bad", 0.0) == Bad("a", b"1", "bad", 0)
    assert [limit.offer("a", b"%d" % n, "bad", n) for n in range(2, 9)] == [None] * 7
    assert limit.offer("b", b"x", "bad", 5.0) == Bad("b", b"x", "bad", 0)
    assert limit.offer("a", b"9", "bad", 10.0) == Bad("a", b"9", "bad", 7)


def test_counted_bad_bytes_are_reported_though_no_more_come() -> None:
    limit = RejectLimit(every_s=10.0)
    limit.offer("a", b"1", "bad", 0.0)
    limit.offer("a", b"2", "bad", 1.0)
    assert limit.due(5.0) == []
    assert limit.due(10.0) == [Bad("a", b"2", "bad", 0)]
    assert limit.due(30.0) == []


def test_bad_bytes_are_cut() -> None:
    bad = RejectLimit(every_s=10.0, cut_bytes=4).offer("a", b"123456", "bad", 0.0)
    assert bad is not None
    assert bad.raw == b"1234"


def test_beats_have_a_topic_of_their_own() -> None:
    assert COLLECTOR_BEATS.key(Beat(cluster="c", ts_us=1, collector="dcgm@h", source="dcgm")) == "c/dcgm@h"
