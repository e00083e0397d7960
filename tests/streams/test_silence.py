"""Silence: the deadline, who is named, and that only data ends it."""

from collections.abc import Sequence

import pytest

from collectors.contract.beat import Beat
from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.silence import SilenceDetector, Watch

S = 1_000_000
T0 = 1_700_000_000


def node(ts_s: float) -> GpuScrape:
    return GpuScrape(ts_us=int((T0 + ts_s) * S), node="n1", gpus=[])


def tick(ts_s: float) -> Tick:
    return Tick(int((T0 + ts_s) * S))


def every(step_s: float, to_s: float) -> list[Message | Tick]:
    return [node(step_s * i) for i in range(int(to_s / step_s) + 1)]


def run(items: Sequence[Message | Tick], watch: Watch = "node") -> list[Finding]:
    detector = SilenceDetector(watch)
    return detector.step(detector.fresh(), items)[1]


def shape(findings: Sequence[Finding]) -> list[tuple[str, str, float, float]]:
    return [(f.state, f.cause, f.ts_us / S - T0, f.episode_us / S - T0) for f in findings]


def test_a_node_is_silent_after_three_of_its_own_intervals() -> None:
    found = run([*every(20, 200), tick(259), tick(261)])
    assert shape(found) == [("opened", "node_silent", 260, 260)]
    assert (found[0].subject.kind, found[0].subject.id, found[0].value) == ("node", "n1", 60)


def test_no_node_is_silent_sooner_than_half_a_minute() -> None:
    assert shape(run([*every(1, 100), tick(129)])) == []
    assert shape(run([*every(1, 100), tick(500)])) == [("opened", "node_silent", 130, 130)]


def test_the_finding_carries_the_deadline_whatever_the_ticks_rhythm() -> None:
    start = every(10, 100)
    late = node(400)
    dense = [tick(t) for t in range(101, 400, 7)]
    expected = [("opened", "node_silent", 130, 130), ("cleared", "node_silent", 400, 130)]
    assert shape(run([*start, late])) == expected
    assert shape(run([*start, *dense, late])) == expected
    assert shape(run([*start, tick(399), late])) == expected


def test_a_part_seen_but_a_few_times_gets_more_time() -> None:
    assert shape(run([node(0), node(10), tick(290)])) == []
    assert shape(run([node(0), tick(301)])) == [("opened", "node_silent", 300, 300)]


def test_one_outage_does_not_teach_a_longer_interval() -> None:
    found = run([*every(10, 100), node(600), node(610), node(620), tick(651)])
    assert shape(found)[-1] == ("opened", "node_silent", 650, 650)


def test_two_sources_that_report_in_turn_are_one_rhythm() -> None:
    turns = [m for i in range(10) for m in (node(60 * i), node(60 * i + 1))]
    assert shape(run([*turns, tick(600)])) == []


def test_a_late_message_does_not_break_a_silence() -> None:
    start = every(10, 100)
    found = run([*start, tick(500), node(101), node(90), node(200)])
    assert shape(found) == [("opened", "node_silent", 130, 130)]


def test_twice_is_once() -> None:
    items = [*every(10, 100), tick(500), node(510)]
    assert run([m for item in items for m in (item, item)]) == run(items)


def test_a_retired_part_is_forgotten() -> None:
    detector = SilenceDetector("node")
    state, _ = detector.step(detector.fresh(), [*every(10, 100), tick(200), tick(8 * 86400)])
    assert state == detector.fresh()
    assert detector.keep(state) is None


def test_a_node_that_died_while_nobody_listened_is_found() -> None:
    detector = SilenceDetector("node")
    state, _ = detector.step(detector.fresh(), every(10, 205))
    kept = detector.keep(state)
    assert kept is not None
    again = detector.restore(kept)
    again, warm = detector.step(again, [m for m in every(10, 200) if m.ts_us >= (T0 + 100) * S])
    assert warm == []
    assert shape(detector.step(again, [tick(1000)])[1]) == [("opened", "node_silent", 230, 230)]


def test_a_restart_without_a_look_back_accuses_nobody() -> None:
    detector = SilenceDetector("node")
    state, out = detector.fresh(), []
    for message in every(10, 600):
        state, found = detector.step(state, [message])
        kept = detector.keep(state)
        assert kept is not None
        state = detector.restore(kept)
        out += found
    assert out == []


def test_an_open_silence_survives_a_restart() -> None:
    detector = SilenceDetector("node")
    state, _ = detector.step(detector.fresh(), [*every(10, 100), tick(200)])
    kept = detector.keep(state)
    assert kept is not None
    found = detector.step(detector.restore(kept), [*every(10, 100), tick(300), node(310)])[1]
    assert shape(found) == [("cleared", "node_silent", 310, 130)]


def test_what_is_kept_changes_at_most_once_a_minute() -> None:
    detector = SilenceDetector("node")
    state = detector.fresh()
    kept = set()
    for message in every(1, 300):
        state, _ = detector.step(state, [message])
        kept.add(detector.keep(state))
    assert len(kept) == 6


def test_a_device_is_watched_by_its_port_scrapes() -> None:
    items: list[Message | Tick] = [PortScrape(ts_us=(T0 + 10 * i) * S, device="leaf1", ports=[]) for i in range(9)]
    found = run([*items, tick(200)], "device")
    assert [(f.subject.kind, f.subject.id, f.cause) for f in found] == [("device", "leaf1", "device_silent")]


@pytest.mark.parametrize("seen", [1, 9])
def test_a_collector_tells_its_interval_itself(seen: int) -> None:
    items: list[Message | Tick] = [
        Beat(ts_us=(T0 + 60 * i) * S, collector="dcgm@n1", source="dcgm", interval_s=60.0) for i in range(seen)
    ]
    end = 60 * (seen - 1)
    assert run([*items, tick(end + 179)], "collector") == []
    assert shape(run([*items, tick(end + 180)], "collector")) == [("opened", "collector_silent", end + 180, end + 180)]


def test_a_collector_whose_targets_fail_is_not_silent() -> None:
    items: list[Message | Tick] = [
        Beat(ts_us=(T0 + 10 * i) * S, collector="c", source="dcgm", ok=False, error="timeout") for i in range(30)
    ]
    assert run([*items, tick(295)], "collector") == []
