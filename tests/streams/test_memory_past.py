"""History from the warehouse: what the detector makes of days that Kafka has forgotten."""

from collections.abc import Sequence

import pytest

from collectors.contract.message import Message
from streams.bank import Bank
from streams.contract import NODE_PASTS, Finding, GpuPast, NodePast
from streams.detector import Tick
from streams.detectors.memory import MemoryDetector
from streams.detectors.memory_conditions import MemoryLimits
from tests.streams.scrapes import SECOND, T0, Cell, only, scrape

HOUR = 3600.0
DAY = 24 * HOUR
TODAY = T0 // SECOND // int(DAY)


def detector() -> MemoryDetector:
    return MemoryDetector(MemoryLimits())


def judge(messages: Sequence[Message | Tick]) -> list[Finding]:
    d = detector()
    return d.step(d.fresh(), messages)[1]


def past(days: dict[int, float], *, remaps: dict[int, float] | None = None, event_days: float = 1_010.0) -> NodePast:
    """GPU-3 had so many errors, one event each, so many days ago; the fleet `event_days` in 100,000 GPU-days."""
    gpu = GpuPast(
        uuid="GPU-3",
        days={TODAY - ago: errors for ago, errors in days.items()},
        events={TODAY - ago: 1 for ago in days},
        correctable_remaps={TODAY - ago: rows for ago, rows in (remaps or {}).items()},
        seen_days=28,
    )
    return NodePast(
        node="n1",
        ts_us=T0,
        gpus=[gpu, GpuPast(uuid="GPU-4", seen_days=28)],
        fleet_gpu_days=100_000.0,
        fleet_events=event_days,
        fleet_event_days=event_days,
    )


def calm(*at_s: float, value: Cell = 500.0) -> list[Message]:
    return [scrape(at, {"310": only(3, value)}) for at in at_s]


def told(found: Sequence[Finding]) -> list[tuple[str, str, str]]:
    return [(f.state, f.severity, f.cause) for f in found]


def test_a_trend_that_began_before_the_start_is_a_ticket_at_the_first_reading() -> None:
    assert told(judge([past({1: 40, 3: 40, 5: 60}), *calm(10)])) == [("opened", "warning", "correctable_ecc_growth")]
    assert told(judge([*calm(10), past({1: 40, 3: 40, 5: 60}), *calm(20)])) == [
        ("opened", "warning", "correctable_ecc_growth")
    ]


def test_a_past_alone_tells_nothing_before_the_gpu_is_read() -> None:
    assert judge([past({1: 40, 3: 40, 5: 60}), Tick(T0 + 3600 * SECOND)]) == []


def test_the_third_event_day_counts_with_the_two_of_the_past() -> None:
    burst = [scrape(10.0 * i, {"310": only(3, n)}) for i, n in enumerate((500.0, 500.0, 540.0))]
    assert told(judge([past({2: 40, 4: 40}), *burst]))[-1] == ("opened", "warning", "correctable_ecc_growth")
    assert {s for _, s, _ in told(judge(burst))} == {"info"}


def test_what_was_seen_here_and_by_the_warehouse_counts_once() -> None:
    """The same burst of today, then the same day again from the warehouse, twice."""
    burst = [scrape(10.0 * i, {"310": only(3, n)}) for i, n in enumerate((500.0, 540.0))]
    d = detector()
    state, _ = d.step(d.fresh(), [*burst, past({0: 40.0}), past({0: 40.0}), *calm(30, value=540.0)])
    trend = state.kept.gpus["GPU-3"].trend
    assert trend is not None
    assert (trend.days, trend.in_events, trend.events) == ({TODAY: 40.0}, {TODAY: 40.0}, {TODAY: 1})


def test_the_larger_of_both_is_taken_where_one_missed_some() -> None:
    burst = [scrape(10.0 * i, {"310": only(3, n)}) for i, n in enumerate((500.0, 540.0))]
    d = detector()
    state, _ = d.step(d.fresh(), [*burst, past({0: 90.0, 1: 15.0})])
    trend = state.kept.gpus["GPU-3"].trend
    assert trend is not None
    assert trend.days == {TODAY: 90.0, TODAY - 1: 15.0}


def test_an_event_of_several_days_is_that_many_event_days() -> None:
    running = past({1: 40, 2: 40, 3: 60})
    began = NodePast(
        node="n1",
        ts_us=running.ts_us,
        gpus=[GpuPast(uuid="GPU-3", days=running.gpus[0].days, events={TODAY - 3: 1}, seen_days=28)],
    )
    assert told(judge([began, *calm(10)])) == [("opened", "warning", "correctable_ecc_growth")]


def test_in_a_fleet_where_all_gpus_are_like_that_it_is_not_this_gpu() -> None:
    """One event-day in eight on every GPU: three in a week are no more than its neighbours have."""
    assert judge([past({1: 40, 3: 40, 5: 60}, event_days=12_500.0), *calm(10)]) == []


def test_the_fleets_rate_is_in_the_evidence() -> None:
    (found,) = judge([past({1: 40, 3: 40, 5: 60}, event_days=400.0), *calm(10)])
    rates = {e.what: e.value for e in found.evidence}
    assert rates["the fleet's rate (prior)"] == pytest.approx(0.004, rel=0.01)
    assert rates["this GPU's rate, shrunk to it (posterior)"] == pytest.approx((0.004 * 5 + 3) / (5 + 14), rel=0.01)


def test_row_remaps_of_the_past_make_a_trend_a_page() -> None:
    days: dict[int, float] = {1: 40, 3: 40, 5: 60}
    grown, stood = {6: 1.0, 4: 1.0, 2: 3.0}, {6: 3.0, 4: 3.0, 2: 3.0}
    assert told(judge([past(days, remaps=grown), *calm(10)])) == [("opened", "critical", "memory_degrading")]
    assert told(judge([past(days, remaps=stood), *calm(10)])) == [("opened", "warning", "correctable_ecc_growth")]


def test_days_out_of_the_window_say_nothing() -> None:
    d = detector()
    state, found = d.step(d.fresh(), [past({20: 40, 22: 40, 24: 60}), *calm(10)])
    assert (found, d.keep(state)) == ([], None)


def test_the_past_survives_a_restart_without_being_told_again() -> None:
    d = detector()
    state, _ = d.step(d.fresh(), [past({2: 40, 4: 40}), *calm(10)])
    kept = d.keep(state)
    assert kept is not None
    again = [scrape(20.0 + 10.0 * i, {"310": only(3, n)}) for i, n in enumerate((500.0, 540.0))]
    assert told(d.step(d.restore(kept), again)[1])[-1] == ("opened", "warning", "correctable_ecc_growth")


def test_a_node_hears_its_past_from_the_bank_whenever_it_appears() -> None:
    bank = Bank([detector()])
    assert bank.feed(NODE_PASTS, past({1: 40, 3: 40, 5: 60})) == []
    (reading,) = calm(10)
    found = bank.feed(bank.detectors[0].topics[0], reading)
    assert told(found) == [("opened", "warning", "correctable_ecc_growth")]


def test_gpus_of_the_past_that_left_the_node_are_forgotten() -> None:
    gone = NodePast(
        node="n1",
        ts_us=T0,
        gpus=[GpuPast(uuid=f"OLD-{i}", days={TODAY - 2: 50.0}, events={TODAY - 2: 1}) for i in range(300)],
    )
    d = detector()
    state, _ = d.step(d.fresh(), [gone])
    assert len(state.kept.gpus) == 256
    state, _ = d.step(state, calm(10, 40 * DAY))
    assert state.kept.gpus == {}
