"""Memory errors: scrapes in, exact edges out."""

from collections.abc import Sequence

import pytest

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.memory import MemoryDetector
from streams.detectors.memory_conditions import MemoryLimits
from tests.streams.scrapes import SECOND, T0, Cell, gpus, only, scrape

HOUR = 3600.0
DAY = 24 * HOUR


def detector() -> MemoryDetector:
    return MemoryDetector(MemoryLimits())


def judge(messages: Sequence[Message | Tick]) -> list[Finding]:
    d = detector()
    return d.step(d.fresh(), messages)[1]


def edges(found: Sequence[Finding]) -> list[tuple[float, str, str, str, str]]:
    return [((f.ts_us - T0) / SECOND, f.state, f.severity, f.cause, f.subject.id) for f in found]


def column(field: str, points: Sequence[tuple[float, Cell]], row: int = 3) -> list[GpuScrape]:
    return [scrape(at, {field: only(row, value)}) for at, value in points]


def test_errors_from_before_are_a_baseline() -> None:
    assert judge(column("311", [(0, 7.0), (10, 7.0)])) == []


@pytest.mark.parametrize("field", ["311", "313", "393"])
def test_one_uncorrected_error_is_critical(field: str) -> None:
    found = judge(column(field, [(0, 0.0), (10, 1.0), (20, 1.0)]))
    assert edges(found) == [(10, "opened", "critical", "uncorrectable_ecc", "GPU-3")]
    assert found[0].value == 1.0
    assert found[0].subject.pci == "0000:1d:00"


def test_both_counters_of_one_error_count_it_once() -> None:
    rows = [scrape(t, {"311": only(0, v), "313": only(0, v + 4), "393": only(0, v)}) for t, v in ((0, 0.0), (10, 2.0))]
    assert [f.value for f in judge(rows)] == [2.0]


def test_a_driver_reload_is_no_error() -> None:
    assert judge(column("311", [(0, 7.0), (10, 0.0), (20, 0.0)])) == []


def test_errors_after_a_driver_reload_count_whole() -> None:
    found = judge(column("311", [(0, 7.0), (10, 2.0)]))
    assert [(f.cause, f.value) for f in found] == [("uncorrectable_ecc", 2.0)]


def test_a_lifetime_counter_that_falls_says_nothing() -> None:
    assert judge(column("313", [(0, 7.0), (10, 3.0), (20, 3.0)])) == []


def test_an_uncorrected_error_is_cleared_by_the_reset_after_it() -> None:
    rows = [
        scrape(t, {"311": only(3, e), "396": only(3, p)})
        for t, e, p in ((0, 0.0, 0.0), (10, 1.0, 1.0), (20, 1.0, 1.0), (30, 0.0, 0.0))
    ]
    assert edges(judge(rows)) == [
        (10, "opened", "critical", "uncorrectable_ecc", "GPU-3"),
        (30, "cleared", "critical", "uncorrectable_ecc", "GPU-3"),
    ]


def test_an_uncorrected_error_without_a_reset_is_let_go_after_a_day() -> None:
    rows = column("313", [(0, 0.0), (10, 1.0), (DAY + 9, 1.0), (DAY + 10, 1.0)])
    assert [e[:2] for e in edges(judge(rows))] == [(10, "opened"), (DAY + 10, "cleared")]


@pytest.mark.parametrize(
    ("field", "severity", "cause"),
    [
        ("395", "critical", "row_remap_failure"),
        ("346", "critical", "sram_threshold"),
        ("1507", "critical", "memory_unrepairable"),
        ("396", "warning", "row_remap_pending"),
        ("392", "warning", "page_retirement_pending"),
    ],
)
def test_a_flag_is_judged_at_first_sight_and_cleared_by_reading_zero(field: str, severity: str, cause: str) -> None:
    found = judge(column(field, [(0, 1.0), (10, 1.0), (20, None), (30, 0.0)]))
    assert edges(found) == [(0, "opened", severity, cause, "GPU-3"), (30, "cleared", severity, cause, "GPU-3")]


def test_what_cannot_be_read_clears_nothing() -> None:
    rows = [
        *column("395", [(0, 1.0), (10, None), (20, 2147483634.0), (30, 9223372036854775794.0)]),
        scrape(40, {}),
        scrape(50, {"395": [0.0]}),
        scrape(60, {"395": only(0, 1.0)[:3]}, parts=gpus(3)),
    ]
    found = judge([*rows, Tick(T0 + int(9 * DAY * SECOND))])
    assert edges(found) == [
        (0, "opened", "critical", "row_remap_failure", "GPU-3"),
        (60, "opened", "critical", "row_remap_failure", "GPU-0"),
    ]


def test_a_blank_value_is_no_count() -> None:
    assert judge(column("311", [(0, 0.0), (10, 9223372036854775794.0), (20, 0.0), (30, 2147483632.0)])) == []


def test_the_gravest_names_the_cause_and_the_rest_is_evidence() -> None:
    found = judge(
        [
            scrape(0, {"396": only(1, 1.0), "395": 0.0}),
            scrape(10, {"396": only(1, 1.0), "395": only(1, 1.0)}),
        ]
    )
    assert edges(found) == [
        (0, "opened", "warning", "row_remap_pending", "GPU-1"),
        (10, "updated", "critical", "row_remap_failure", "GPU-1"),
    ]
    assert [e.what for e in found[1].evidence] == [
        "remapping of a bad memory row failed",
        "remap waits for a reset (flag 396)",
        "remap failed (flag 395)",
        "a bad memory row waits for a GPU reset to be remapped",
    ]
    assert found[1].action is not None and "field diagnostic" in found[1].action


def test_the_last_row_is_named_before_the_failed_remap_that_it_brings_about() -> None:
    found = judge(
        [scrape(0, {"393": only(1, 511.0), "395": 0.0}), scrape(10, {"393": only(1, 512.0), "395": only(1, 1.0)})]
    )
    assert edges(found) == [(10, "opened", "critical", "row_remap_exhausted", "GPU-1")]
    assert "remap failed (flag 395)" in [e.what for e in found[0].evidence]


def test_retired_pages_count_together() -> None:
    rows = [scrape(t, {"390": only(0, a), "391": only(0, b)}) for t, a, b in ((0, 40.0, 22.0), (9, 40.0, 23.0))]
    assert edges(judge(rows)) == [(9, "opened", "critical", "page_retirement_limit", "GPU-0")]


def test_many_new_pages_for_uncorrected_errors_in_a_week_are_enough() -> None:
    slow = column("391", [(0, 15.0), (10, 16.0), (8 * DAY, 17.0)])
    assert judge(slow) == []
    assert [f.cause for f in judge(column("391", [(0, 14.0), (10, 15.0), (DAY, 16.0)]))] == ["page_retirement_limit"]


def test_a_lone_burst_of_corrected_errors_is_for_the_record() -> None:
    found = judge(column("310", [(0, 0.0), (30, 900.0), (60, 905.0), (HOUR + 59, 905.0), (HOUR + 60, 905.0)]))
    assert edges(found) == [
        (30, "opened", "info", "correctable_ecc_burst", "GPU-3"),
        (HOUR + 60, "cleared", "info", "correctable_ecc_burst", "GPU-3"),
    ]


def test_a_stray_corrected_error_is_not_worth_a_word() -> None:
    assert judge(column("310", [(t * 600.0, float(t // 6)) for t in range(60)])) == []


def test_minutes_of_steady_corrected_errors_are_one_event_and_no_ticket() -> None:
    found = judge(column("310", [(t, 3.0 * t) for t in range(0, 600, 5)]))
    assert {(f.severity, f.cause) for f in found} == {("info", "correctable_ecc_burst")}


def test_a_storm_must_last_two_scrapes() -> None:
    once = judge(column("310", [(0, 0.0), (10, 5000.0), (20, 5010.0), (30, 9990.0), (40, 9990.0)]))
    assert "correctable_ecc_storm" not in {f.cause for f in once}
    found = judge(column("310", [(0, 0.0), (10, 1000.0), (20, 2100.0), (30, 2100.0)]))
    assert edges(found)[-1] == (20, "updated", "critical", "correctable_ecc_storm", "GPU-3")
    assert found[-1].value == pytest.approx(110.0)


def test_three_event_days_in_a_week_are_a_warning_until_the_week_has_passed() -> None:
    points = [(0.0, 0.0)]
    total = 0.0
    for day in range(14):
        if day in (1, 3, 5):
            total += 40.0
        points += [(day * DAY + 6 * HOUR, total), (day * DAY + 12 * HOUR, total)]
    found = edges(judge(column("310", points)))
    assert [e[1:4] for e in found if e[2] == "warning"] == [
        ("opened", "warning", "correctable_ecc_growth"),
        ("cleared", "warning", "correctable_ecc_growth"),
    ]
    warned, ended = (e[0] / DAY for e in found if e[2] == "warning")
    assert (int(warned), int(ended)) == (5, 10)


def test_an_event_is_not_over_while_its_counter_cannot_be_read() -> None:
    points: list[tuple[float, Cell]] = [(t, 3.0 * t) for t in range(0, 60, 5)]
    found = judge(column("310", [*points, (3 * HOUR, None), (4 * HOUR, None)]))
    assert [f.state for f in found] == ["opened", "updated"]
    found = judge(column("310", [*points, (3 * HOUR, None), (4 * HOUR, 165.0)]))
    assert [f.state for f in found] == ["opened", "updated", "cleared"]


def test_growth_during_a_gap_is_counted_when_it_is_over() -> None:
    found = judge(column("313", [(0, 4.0), (10, None), (20, 6.0)]))
    assert [f.value for f in found] == [2.0]


def test_a_gpu_that_was_away_is_compared_with_what_it_had() -> None:
    rows = [
        scrape(0, {"313": 0.0}),
        scrape(10, {"313": 0.0}, parts=gpus(7)),
        scrape(500, {"313": only(7, 1.0)}),
    ]
    assert edges(judge(rows)) == [(500, "opened", "critical", "uncorrectable_ecc", "GPU-7")]


def test_mig_rows_of_one_gpu_count_once() -> None:
    parts = [Gpu(uuid="GPU-0", index=0, mig=f"1g.10gb/{i}") for i in range(7)]
    found = judge([scrape(t, {"311": v}, parts=parts) for t, v in ((0, 0.0), (10, 1.0))])
    assert [(f.subject.id, f.value) for f in found] == [("GPU-0", 1.0)]


def test_two_sources_of_one_counter_count_it_once() -> None:
    def by(source: str, at: float, value: float) -> GpuScrape:
        s = scrape(at, {"311": only(0, value)})
        return GpuScrape(node=s.node, ts_us=s.ts_us, gpus=s.gpus, columns=s.columns, source=source)  # type: ignore[arg-type]

    d = detector()
    found = d.step(
        d.fresh(),
        [by("dcgm", 0, 0), by("nvml", 1, 0), by("dcgm", 2, 1), by("nvml", 3, 0), by("nvml", 4, 1), by("dcgm", 5, 1)],
    )[1]
    assert [f.value for f in found] == [1.0]


def test_a_restart_counts_nothing_twice_when_the_last_minutes_are_read_back() -> None:
    d = detector()
    rows = column("310", [(t, 3.0 * t) for t in range(0, 60, 5)])
    state, _ = d.step(d.fresh(), rows)
    kept = d.keep(state)
    assert kept is not None
    again, silent = d.step(d.restore(kept), rows)
    assert d.keep(again) == kept
    assert silent == []


def test_a_sound_node_keeps_nothing() -> None:
    d = detector()
    state, found = d.step(d.fresh(), [scrape(t, {"310": 5.0, "311": 0.0, "395": 0.0}) for t in range(5)])
    assert (found, d.keep(state)) == ([], None)


def test_a_clock_that_ran_ahead_blinds_nobody() -> None:
    ahead = column("311", [(0, 0.0), (9 * DAY, 1.0), (20, 1.0), (30, 2.0)])
    found = judge(ahead)
    assert [(f.state, f.value) for f in found] == [("opened", 1.0)]
    later = judge([*ahead, scrape(40, {"395": only(3, 1.0)})])
    assert [f.cause for f in later] == ["uncorrectable_ecc", "row_remap_failure"]
    points = [(9 * DAY, 0.0), (9 * DAY + 5, 50.0), *((t, 50.0 + 5 * t) for t in range(0, 90, 5))]
    assert "correctable_ecc_burst" in {f.cause for f in judge(column("310", points))}
