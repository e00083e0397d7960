"""Corrected errors: which rung of the ladder, when, and what is said of the days ahead."""

from collections.abc import Sequence

import pytest

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.memory import MemoryDetector
from streams.detectors.memory_conditions import MemoryLimits
from tests.streams.scrapes import SECOND, T0, Cell, only, scrape

HOUR = 3600.0
DAY = 24 * HOUR
START = (T0 // SECOND) % DAY
"""Seconds of its day at which the tests begin."""


def judge(messages: Sequence[Message | Tick]) -> list[Finding]:
    d = MemoryDetector(MemoryLimits())
    return d.step(d.fresh(), messages)[1]


def column(field: str, points: Sequence[tuple[float, Cell]], row: int = 3) -> list[GpuScrape]:
    return [scrape(at, {field: only(row, value)}) for at, value in points]


def noon(day: int) -> float:
    """Noon of a day, the day of T0 being 0."""
    return day * DAY + 12 * HOUR - START


def days(sums: dict[int, float], last: int, field: str = "310", step: float = 6 * HOUR) -> list[GpuScrape]:
    """A scrape every few hours; the sum of a day comes within ten minutes of its noon."""
    points, total = [(0.0, 0.0)], 0.0
    for day in range(1, last + 1):
        points.append((noon(day) - step, total))
        for part in range(5):
            fifth = sums.get(day, 0.0) // 5
            total += fifth if part else sums.get(day, 0.0) - 4 * fifth
            points.append((noon(day) + 120.0 * part, total))
        points.append((noon(day) + step, total))
    return column(field, points)


def notice(at_s: float, code: int = 92, pci: str = "0000:1d:00") -> KernelEvent:
    return KernelEvent(
        node="n1",
        ts_us=T0 + int(at_s * SECOND),
        kind="xid",
        code=code,
        pci=pci,
        raw=f"NVRM: Xid (PCI:{pci}): {code}, at {at_s}",
    )


def told(found: Sequence[Finding]) -> list[tuple[int, str, str, str]]:
    """(day, state, severity, cause) of everything above info."""
    day = [int((f.ts_us / SECOND - T0 / SECOND + START) // DAY) for f in found]
    return [(d, f.state, f.severity, f.cause) for d, f in zip(day, found, strict=True) if f.severity != "info"]


def evidence(finding: Finding, start: str) -> float | None:
    (value,) = (e.value for e in finding.evidence if e.what.startswith(start))
    return value


def test_a_lone_burst_is_information_however_large() -> None:
    found = judge(days({2: 40_000.0}, 12))
    assert {(f.severity, f.cause) for f in found} == {("info", "correctable_ecc_burst")}
    assert [f.state for f in found if f.state != "updated"] == ["opened", "cleared"]


def test_one_odd_day_with_many_events_condemns_nobody() -> None:
    """Twelve events, two hours apart: one event-day."""
    points = [(noon(3) + 7200.0 * n - 12 * HOUR + 600, 200.0 * n) for n in range(12)]
    assert told(judge(column("310", [(0.0, 0.0), *points, (noon(5), 2200.0)]))) == []


def test_three_event_days_in_seven_are_a_ticket_until_only_one_is_left() -> None:
    found = judge(days({2: 40, 4: 40, 6: 60}, 14))
    assert told(found) == [
        (6, "opened", "warning", "correctable_ecc_growth"),
        (11, "cleared", "warning", "correctable_ecc_growth"),
    ]


def test_three_event_days_in_nine_are_no_trend() -> None:
    assert told(judge(days({1: 40, 5: 40, 9: 60}, 12))) == []


def test_strays_make_no_event_day() -> None:
    """One error every two hours, day after day."""
    assert told(judge(column("310", [(7200.0 * n, float(n)) for n in range(120)]))) == []


def test_a_ticket_says_the_rates_and_what_to_expect() -> None:
    (found,) = (f for f in judge(days({2: 40, 4: 400, 6: 60}, 6)) if f.severity == "warning")
    assert (found.value, found.limit, found.unit) == (3.0, 3.0, "event-days")
    assert evidence(found, "the fleet's rate (prior)") == pytest.approx(0.0101)
    posterior = evidence(found, "this GPU's rate, shrunk to it (posterior)") or 0.0
    seen = (noon(6) + START) / DAY - START / DAY
    assert posterior == pytest.approx((0.0101 * 5 + 3) / (5 + seen), rel=0.02)
    assert evidence(found, "forecast: event-days in the next 7 days") == pytest.approx(7 * posterior)
    assert evidence(found, "errors of a usual event-day") == pytest.approx(40, abs=10)
    assert "more such days expected in the next 7" in found.summary
    assert "times the fleet's rate" in found.summary


def test_a_daily_sum_that_doubles_three_times_is_a_ticket_however_small() -> None:
    assert told(judge(days({2: 3, 3: 6, 4: 12, 5: 24}, 5))) == [(5, "updated", "warning", "correctable_ecc_growth")]
    assert told(judge(days({2: 3, 3: 6, 4: 12, 5: 20}, 5))) == []


@pytest.mark.parametrize("field", ["310", "312"])
def test_a_storm_is_found_in_two_scrapes(field: str) -> None:
    """17,700 errors a second, as was seen on a real GPU; the first scrape is the baseline."""
    found = judge(column(field, [(10.0 * n, 177_000.0 * max(0, n - 3)) for n in range(8)]))
    assert [(f.ts_us - T0) / SECOND for f in found if f.cause == "correctable_ecc_storm"] == [50.0]
    storm = next(f for f in found if f.cause == "correctable_ecc_storm")
    assert storm.severity == "critical"
    assert storm.value == pytest.approx(17_700.0)


def test_a_storm_whose_dcgm_stalls_is_not_over() -> None:
    """No row, nothing readable, or the same page again and again: none of them ends it."""
    storm = [scrape(10.0 * n, {"310": only(3, 177_000.0 * n), "156": 1e9 + n}) for n in range(4)]
    gone = [scrape(60.0 * n, {"310": 0.0, "156": 2e9 + n}, parts=[]) for n in range(1, 180)]
    blank = [scrape(60.0 * n, {"310": only(3, None), "156": only(3, None, 2e9 + n)}) for n in range(1, 180)]
    stale = [scrape(60.0 * n, {"310": only(3, 531_000.0), "156": 1e9 + 3}) for n in range(1, 180)]
    for after in (gone, blank, stale):
        assert [f.state for f in judge([*storm, *after])] == ["opened", "updated"]
    alive = [scrape(60.0 * n, {"310": only(3, 531_000.0), "156": 2e9 + n}) for n in range(1, 180)]
    assert [f.state for f in judge([*storm, *alive])] == ["opened", "updated", "cleared"]


def test_a_burst_that_falls_into_one_scrape_is_no_storm() -> None:
    found = judge(column("310", [(0, 0.0), (10, 90_000.0), (20, 90_005.0), (30, 90_010.0)]))
    assert {f.severity for f in found} == {"info"}


def test_a_trend_with_the_drivers_own_notice_is_critical() -> None:
    scrapes = days({2: 40, 4: 40, 6: 60}, 7)
    found = judge([*scrapes, notice(noon(7) + 8 * HOUR)])
    assert told(found)[-1] == (7, "updated", "critical", "memory_degrading")
    assert evidence(found[-1], "XID 92") == 1.0


def test_the_notice_before_the_trend_counts_for_a_week() -> None:
    scrapes = days({2: 40, 4: 40, 6: 60}, 6)
    late = [s for s in scrapes if s.ts_us > T0 + noon(4) * SECOND]
    early = [s for s in scrapes if s not in late]
    assert told(judge([*early, notice(noon(4) + 1), *late]))[-1][2:] == ("critical", "memory_degrading")


def test_the_notice_alone_is_no_trend() -> None:
    assert told(judge([scrape(0, {"310": 0.0}), notice(5.0), scrape(10, {"310": 0.0})])) == []


def test_the_same_notice_twice_counts_once() -> None:
    scrapes = days({2: 40, 4: 40, 6: 60}, 7)
    found = judge([*scrapes, notice(noon(7) + 8 * HOUR), notice(noon(7) + 8 * HOUR)])
    assert evidence(found[-1], "XID 92") == 1.0


def test_a_trend_with_rows_remapped_for_corrected_errors_is_critical() -> None:
    rows = days({2: 40, 4: 40, 6: 60}, 6)
    grown = [
        scrape((s.ts_us - T0) / SECOND, {**s.columns, "394": only(3, 1.0 if i > 16 else 0.0)})
        for i, s in enumerate(rows)
    ]
    assert told(judge(grown))[-1][1:] == ("opened", "critical", "memory_degrading")


def test_rows_that_were_remapped_long_ago_say_nothing() -> None:
    rows = days({2: 40, 4: 40, 6: 60}, 6)
    stand = [scrape((s.ts_us - T0) / SECOND, {**s.columns, "394": only(3, 7.0)}) for s in rows]
    assert told(judge(stand))[-1][1:] == ("opened", "warning", "correctable_ecc_growth")


def test_a_trend_with_banks_that_lose_their_spare_rows_is_critical_and_says_how_long_they_last() -> None:
    rows = days({2: 40, 4: 40, 6: 60}, 6)

    def banks(i: int) -> dict[str, list[Cell]]:
        worse = i > 16
        return {
            "385": only(3, 2558.0 if worse else 2560.0, 2560.0),
            "386": only(3, 1.0 if worse else 0.0),
            "387": only(3, 1.0 if worse else 0.0),
        }

    found = judge([scrape((s.ts_us - T0) / SECOND, {**s.columns, **banks(i)}) for i, s in enumerate(rows)])
    assert told(found)[-1][1:] == ("opened", "critical", "memory_degrading")
    left = evidence(found[-1], "forecast: days that the spare rows of the worst bank")
    assert left == pytest.approx(2 / (3.5 / 6.0), rel=0.05)


def test_volatile_and_lifetime_counters_count_an_error_once_even_when_one_lags() -> None:
    rows = [
        scrape(10.0 * t, {"310": only(3, 20.0 * t), "312": only(3, 20.0 * max(0, t - 1) + 7000.0)}) for t in range(6)
    ]
    found = judge(rows)
    assert max(f.value or 0.0 for f in found) <= 100.0
    assert found[0].value == 20.0


def test_a_driver_reload_in_the_middle_loses_nothing_and_adds_nothing() -> None:
    rows = [(0, 0.0, 500.0), (10, 30.0, 530.0), (20, 5.0, 540.0), (30, 10.0, 545.0)]
    found = judge([scrape(t, {"310": only(3, v), "312": only(3, a)}) for t, v, a in rows])
    assert {f.cause for f in found} == {"correctable_ecc_burst"}
    d = MemoryDetector(MemoryLimits())
    state, _ = d.step(d.fresh(), [scrape(t, {"310": only(3, v), "312": only(3, a)}) for t, v, a in rows])
    trend = state.kept.gpus["GPU-3"].trend
    assert trend is not None
    assert trend.errors == 45.0


def test_dram_and_sram_are_told_apart() -> None:
    rows = [(0, 0.0, 0.0, 0.0), (10, 30.0, 28.0, 2.0)]
    found = judge([scrape(t, {"310": only(3, a), "318": only(3, d), "342": only(3, s)}) for t, a, d, s in rows])
    assert evidence(found[0], "corrected errors in DRAM") == 28.0
    assert evidence(found[0], "corrected errors in SRAM") == 2.0


def test_mig_instances_share_the_errors_of_their_gpu() -> None:
    parts = [Gpu(uuid="GPU-0", index=0, mig=f"1g.10gb/{i}") for i in range(7)]
    found = judge([scrape(t, {"310": v}, parts=parts) for t, v in ((0, 0.0), (10, 50.0))])
    assert [(f.subject.id, f.value) for f in found] == [("GPU-0", 50.0)]


def test_a_sentinel_is_no_burst() -> None:
    assert judge(column("310", [(0, 0.0), (10, 9223372036854775794.0), (20, 2147483632.0), (30, 0.0)])) == []
