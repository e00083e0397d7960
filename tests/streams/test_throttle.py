"""Slow clocks: scrapes in, exact edges out."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.throttle import ThrottleDetector
from streams.detectors.throttle_reading import ThrottleLimits, is_calm
from tests.streams.scrapes import SECOND, T0, Cell, gpus, only, scrape

HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, BRAKE = 8.0, 32.0, 64.0, 128.0


def detector() -> ThrottleDetector:
    return ThrottleDetector(ThrottleLimits())


def judge(messages: Sequence[Message | Tick]) -> list[Finding]:
    d = detector()
    return d.step(d.fresh(), messages)[1]


def edges(found: Sequence[Finding]) -> list[tuple[float, str, str, str, str]]:
    return [((f.ts_us - T0) / SECOND, f.state, f.severity, f.cause, f.subject.id) for f in found]


def at(
    t: float,
    clocks: Sequence[Cell] | Cell = 1930.0,
    bits: Sequence[Cell] | Cell = 0.0,
    active: Sequence[Cell] | Cell = 0.9,
    parts: list[Gpu] | None = None,
    **more: Any,
) -> GpuScrape:
    extra = {f.removeprefix("f"): v for f, v in more.items()}
    return scrape(t, {"100": clocks, "112": bits, "1002": active, **extra}, parts=parts)


def one_slow(t: float, clock: Cell = 1200.0, bits: Cell = SW_THERMAL, **more: Any) -> GpuScrape:
    return at(t, only(3, clock, 1930.0), only(3, bits), **more)


def test_a_healthy_node_says_nothing() -> None:
    found = judge([at(t, [1900.0 + 5 * ((i + t) % 8) for i in range(8)], 4.0) for t in range(50)])
    assert found == []


def test_three_slow_scrapes_under_load_are_a_finding() -> None:
    found = judge([one_slow(t) for t in range(6)])
    assert edges(found) == [(2, "opened", "warning", "thermal_throttle", "GPU-3")]
    assert (found[0].value, found[0].limit, found[0].unit) == (1200.0, 0.9 * 1930, "MHz")


def test_two_slow_scrapes_are_not() -> None:
    assert judge([one_slow(0), one_slow(1), at(2), one_slow(3), one_slow(4), at(5)]) == []


def test_idle_gpus_are_not_slow() -> None:
    assert judge([at(t, only(3, 345.0, 1930.0), only(3, 1.0), only(3, 0.0, 0.9)) for t in range(9)]) == []
    assert judge([at(t, 345.0, 1.0, 0.0) for t in range(9)]) == []


def test_an_idle_or_unreadable_scrape_neither_counts_nor_resets() -> None:
    idle = at(2, only(3, 345.0, 1930.0), only(3, 1.0), only(3, 0.1, 0.9))
    unread = at(3, only(3, None, 1930.0), only(3, None), only(3, None, 0.9))
    found = judge([one_slow(0), one_slow(1), idle, unread, one_slow(4)])
    assert [e[:2] for e in edges(found)] == [(4, "opened")]


@pytest.mark.parametrize(
    ("bits", "cause"),
    [
        (SW_THERMAL, "thermal_throttle"),
        (HW_THERMAL + HW_SLOWDOWN + SW_THERMAL, "thermal_throttle"),
        (BRAKE + HW_SLOWDOWN, "power_brake"),
        (HW_SLOWDOWN, "hw_slowdown"),
        (4.0, "power_cap"),
        (4.0 + SW_THERMAL, "thermal_throttle"),
        (2.0, "clock_lock"),
        (0.0, "clock_lock"),
        (16.0, "sync_boost"),
        (None, "unexplained_slow_clock"),
    ],
)
def test_the_bit_names_the_cause(bits: Cell, cause: str) -> None:
    assert [f.cause for f in judge([one_slow(t, bits=bits) for t in range(5)])] == [cause]


def test_the_counter_with_the_largest_share_names_the_cause() -> None:
    rows = [
        one_slow(t, bits=0.0, f1422=only(3, t * 1e8), f1424=only(3, t * 8e8), f1420=only(3, t * 1e9)) for t in range(6)
    ]
    found = judge(rows)
    assert [f.cause for f in found] == ["power_brake"]
    assert "held down by power_brake" in [e.what for e in found[0].evidence]


def test_time_outweighs_the_bit_that_a_sample_happened_to_see() -> None:
    bits = HW_THERMAL + HW_SLOWDOWN
    rows = [one_slow(t, bits=bits, f1423=only(3, t * 1e8), f1424=only(3, t * 8e8)) for t in range(6)]
    assert [f.cause for f in judge(rows)][-1] == "power_brake"
    parent = [one_slow(t, bits=HW_SLOWDOWN, f1423=only(3, t * 5e8), f1424=only(3, t * 1e8)) for t in range(6)]
    assert [f.cause for f in judge(parent)][-1] == "thermal_throttle"


def test_the_coarse_counters_are_asked_when_nothing_finer_speaks() -> None:
    heat = [one_slow(t, bits=None, f241=only(3, t * 5e8)) for t in range(6)]
    power = [one_slow(t, bits=None, f240=only(3, t * 5e8)) for t in range(6)]
    assert [f.cause for f in judge(heat)] == ["thermal_throttle"]
    assert [f.cause for f in judge(power)] == ["power_cap"]


def test_a_counter_that_began_again_says_nothing() -> None:
    rows = [one_slow(t, bits=0.0, f1424=only(3, 9e9 - t * 1e9)) for t in range(6)]
    assert [f.cause for f in judge(rows)] == ["clock_lock"]


def test_half_the_clock_is_critical() -> None:
    found = judge([one_slow(t, 900.0, HW_THERMAL + HW_SLOWDOWN) for t in range(4)])
    assert [f.severity for f in found] == ["critical"]


def test_getting_worse_is_an_update_of_the_same_episode() -> None:
    found = judge([*(one_slow(t) for t in range(5)), *(one_slow(t, 900.0) for t in range(5, 9))])
    assert edges(found) == [
        (2, "opened", "warning", "thermal_throttle", "GPU-3"),
        (5, "updated", "critical", "thermal_throttle", "GPU-3"),
    ]
    assert found[0].episode_us == found[1].episode_us


def test_the_power_cap_alone_is_everyday_life() -> None:
    assert judge([at(t, 1500.0, 4.0) for t in range(20)]) == []


def test_waiting_for_others_is_not_slow() -> None:
    rows = [at(t, 1930.0, 0.0, only(3, 0.95, 0.12), f203=100.0) for t in range(9)]
    assert judge(rows) == []


def test_a_slow_gpu_is_found_though_all_others_wait_for_it() -> None:
    rows = [at(t, only(3, 1200.0, 1930.0), 0.0, only(3, 0.95, 0.12), f203=100.0) for t in range(4)]
    assert [e[1:] for e in edges(judge(rows))] == [("opened", "warning", "clock_lock", "GPU-3")]


def test_a_power_brake_on_all_gpus_is_one_fault_of_the_node() -> None:
    found = judge([at(0), *(at(t, 960.0, BRAKE + HW_SLOWDOWN) for t in range(1, 9))])
    assert edges(found) == [(3, "opened", "critical", "power_brake", "n1")]
    assert found[0].subject.kind == "node"
    assert len([e for e in found[0].evidence if e.what.startswith("SM clock")]) == 8


def test_gpus_that_slow_one_after_the_other_are_one_fault_of_the_node() -> None:
    rows = [
        at(t, [960.0 if t > i // 6 else 1930.0 for i in range(8)], [136.0 if t > i // 6 else 0.0 for i in range(8)])
        for t in range(9)
    ]
    assert edges(judge(rows)) == [(3, "opened", "critical", "power_brake", "n1")]


def test_all_gpus_locked_low_without_a_reason_are_found() -> None:
    assert edges(judge([at(t, 1000.0) for t in range(4)])) == [(2, "opened", "critical", "clock_lock", "n1")]


def test_a_node_of_an_unknown_model_is_found_by_the_hard_bits() -> None:
    found = judge([at(t, 700.0, BRAKE, parts=gpus(8, "Some GPU")) for t in range(4)])
    assert edges(found) == [(2, "opened", "critical", "power_brake", "n1")]


def test_models_are_not_compared_with_each_other() -> None:
    parts = [*gpus(8)[:4], *gpus(8, "NVIDIA A100-SXM4-80GB")[4:]]
    assert judge([at(t, [1930.0] * 4 + [1380.0] * 4, parts=parts) for t in range(9)]) == []


def test_a_node_episode_ends_when_its_gpus_are_fast_again() -> None:
    found = judge([*(at(t, 960.0, BRAKE) for t in range(5)), *(at(t) for t in range(5, 60))])
    assert edges(found) == [
        (2, "opened", "critical", "power_brake", "n1"),
        (35, "cleared", "critical", "power_brake", "n1"),
    ]


def test_a_gpu_that_stays_slow_after_the_node_has_its_own_episode() -> None:
    found = judge([*(at(t, 960.0, BRAKE) for t in range(5)), *(one_slow(t) for t in range(5, 60))])
    assert edges(found) == [
        (2, "opened", "critical", "power_brake", "n1"),
        (35, "cleared", "critical", "power_brake", "n1"),
        (35, "opened", "warning", "thermal_throttle", "GPU-3"),
    ]


def test_it_clears_after_good_scrapes_under_load() -> None:
    found = judge([*(one_slow(t) for t in range(5)), *(at(t) for t in range(5, 60))])
    assert edges(found) == [
        (2, "opened", "warning", "thermal_throttle", "GPU-3"),
        (35, "cleared", "warning", "thermal_throttle", "GPU-3"),
    ]


def test_a_clock_between_slow_and_fine_does_not_flap() -> None:
    rows = [one_slow(t, 1200.0 if t % 5 < 2 else 1790.0) for t in range(3)]
    found = judge([*(one_slow(t) for t in range(5)), *rows, *(one_slow(t, 1760.0, 0.0) for t in range(5, 200))])
    assert [f.state for f in found] == ["opened"]


def test_nothing_but_good_scrapes_under_load_clears() -> None:
    parts = [g for g in gpus(8) if g.index != 3]
    rows: list[Message | Tick] = [
        *(one_slow(t) for t in range(5)),
        *(at(t, only(3, 345.0, 1930.0), only(3, 1.0), only(3, 0.0, 0.9)) for t in range(5, 100)),
        *(at(t, only(3, None, 1930.0)) for t in range(100, 200)),
        *(at(t, active=only(3, None, 0.9)) for t in range(200, 300)),
        *(scrape(t, {}) for t in range(300, 400)),
        *(at(t, parts=parts) for t in range(400, 500)),
        Tick(T0 + 10**14),
    ]
    assert [f.state for f in judge(rows)] == ["opened"]


def test_few_degrees_before_slowdown_are_for_the_record_until_it_slows() -> None:
    hot = [at(t, f153=only(3, 3.0, 20.0)) for t in range(5)]
    slow = [one_slow(t, f153=only(3, -1.0, 20.0)) for t in range(5, 10)]
    assert edges(judge([*hot, *slow])) == [
        (2, "opened", "info", "thermal_margin_low", "GPU-3"),
        (7, "updated", "warning", "thermal_throttle", "GPU-3"),
    ]


def test_mig_rows_are_one_gpu() -> None:
    parts = [*gpus(8)[:7], *(Gpu(uuid="GPU-7", index=7, model=gpus(1)[0].model, mig=f"1g/{i}") for i in range(3))]
    rows = [
        at(t, [1930.0] * 7 + [1200.0] * 3, [0.0] * 7 + [32.0] * 3, [0.9] * 7 + [None, 0.8, 0.1], parts)
        for t in range(5)
    ]
    assert [e[1:] for e in edges(judge(rows))] == [("opened", "warning", "thermal_throttle", "GPU-7")]


def test_a_late_or_repeated_scrape_is_left_out() -> None:
    assert judge([one_slow(5), one_slow(5), one_slow(4), one_slow(6)]) == []


def test_a_restart_keeps_open_episodes_and_ends_them() -> None:
    d = detector()
    for rows, name in (([one_slow(t) for t in range(5)], "GPU-3"), ([at(t, 960.0, BRAKE) for t in range(5)], "n1")):
        state, _ = d.step(d.fresh(), rows)
        kept = d.keep(state)
        assert kept is not None
        for read_back in (rows[3:], []):
            state, found = d.step(d.restore(kept), [*read_back, *(at(t) for t in range(5, 60))])
            assert [(e[1], e[4]) for e in edges(found)] == [("cleared", name)]
            assert d.keep(state) is None


@pytest.mark.parametrize("column", [[None] * 8, [1930.0] * 7 + [None], []])
def test_calm_survives_what_cannot_be_read(column: list[Cell]) -> None:
    assert is_calm(at(0, column, [None] * 8, f153=[None] * 8), ThrottleLimits())


def test_a_clock_that_ran_ahead_blinds_nobody() -> None:
    ahead = [at(90 * 86400), *(one_slow(t) for t in range(4)), at(90 * 86400), *(at(t) for t in range(5, 60))]
    assert [f.state for f in judge(ahead)] == ["opened", "cleared"]


def test_no_degree_left_is_a_throttle_though_the_clock_still_holds() -> None:
    found = judge([at(t, f153=only(3, 0.0, 20.0)) for t in range(5)])
    assert edges(found) == [(2, "opened", "warning", "thermal_throttle", "GPU-3")]
    assert found[0].summary == "GPU 3 of n1 is at its temperature limit"


def test_older_models_tell_the_margin_by_two_temperatures() -> None:
    def row(t: int, ends: float) -> GpuScrape:
        return at(t, f150=only(3, 87.0, 60.0), f158=ends, parts=gpus(8, "NVIDIA A100-SXM4-80GB"), clocks=1400.0)

    assert [e[3:] for e in edges(judge([row(t, 89.0) for t in range(5)]))] == [("thermal_margin_low", "GPU-3")]
    assert judge([row(t, -2.0) for t in range(5)]) == []


def users(*names: str | None) -> list[Gpu]:
    return [structs.replace(g, hpc_job=name) for g, name in zip(gpus(len(names)), names, strict=True)]


def test_a_job_at_the_power_cap_is_not_compared_with_one_that_rests_on_memory() -> None:
    two = users("a", "a", "a", "a", "b", "b", "b", "b")
    assert judge([at(t, [1500.0] * 4 + [1930.0] * 4, [4.0] * 4 + [0.0] * 4, parts=two) for t in range(9)]) == []
    alone = users("a", "b", "b", "b")
    assert judge([at(t, [1500.0] + [1930.0] * 3, [4.0] + [0.0] * 3, parts=alone) for t in range(9)]) == []


def test_a_gpu_below_its_own_job_is_found_whatever_others_do() -> None:
    two = users("a", "a", "a", "a", "b", "b", "b", "b")
    rows = [at(t, [1500.0] * 3 + [1200.0] + [1930.0] * 4, [4.0] * 4 + [0.0] * 4, parts=two) for t in range(4)]
    assert edges(judge(rows)) == [(2, "opened", "warning", "power_cap", "GPU-3")]


def test_a_gpu_alone_on_its_node_is_judged_by_its_own_past() -> None:
    one = gpus(1, "Some GPU")
    steady = [at(t, 1900.0, parts=one) for t in range(0, 1200, 30)]
    low = [at(t, 1600.0, parts=one) for t in range(1200, 1500, 30)]
    again = [at(t, 1890.0, parts=one) for t in range(1500, 1800, 30)]
    found = judge([*steady, *low, *again])
    assert edges(found) == [
        (1260, "opened", "warning", "clock_lock", "GPU-0"),
        (1620, "cleared", "warning", "clock_lock", "GPU-0"),
    ]
    assert found[0].summary == "GPU 0 of n1 runs at 1600 MHz, 84% of its usual clock: no reason is given"
    assert judge(low) == []


def test_all_gpus_below_their_past_without_a_reason_are_one_ticket_of_the_node() -> None:
    rows = [at(t, 1900.0 if t < 1200 else 1500.0) for t in range(0, 1500, 30)]
    assert edges(judge(rows)) == [(1260, "opened", "warning", "clock_lock", "n1")]


def test_work_at_the_power_cap_is_not_compared_with_a_past_below_it() -> None:
    assert judge([at(t, 1900.0 if t < 1200 else 1500.0, 0.0 if t < 1200 else 4.0) for t in range(0, 1800, 30)]) == []


def test_the_same_sample_read_again_counts_once() -> None:
    def row(t: int) -> GpuScrape:
        return one_slow(t, f155=only(3, 300.0 + t // 30, 650.0), f156=only(3, 1e9 + t // 30, 2e9 + t // 30))

    assert [e[:2] for e in edges(judge([row(t) for t in range(0, 120, 15)]))] == [(60, "opened")]


def test_a_profiling_field_that_stuck_at_0_hides_no_slow_gpu() -> None:
    assert [f.cause for f in judge([one_slow(t, active=0.0, f203=100.0) for t in range(4)])] == ["thermal_throttle"]


def test_the_exporters_counts_of_a_window_name_the_cause_where_nothing_else_does() -> None:
    name = 'DCGM_EXP_CLOCK_EVENTS_COUNT{clock_event="hw_power_brake",window_size_in_ms="300000"}'
    rows = [structs.replace(one_slow(t, bits=None), named={name: only(3, 7.0)}) for t in range(4)]
    assert [f.cause for f in judge(rows)] == ["power_brake"]


def test_power_at_its_limit_is_the_cap_where_no_reason_is_told() -> None:
    rows = [one_slow(t, bits=None, f155=only(3, 398.0, 650.0), f164=only(3, 400.0, 700.0)) for t in range(4)]
    assert [f.cause for f in judge(rows)] == ["power_cap"]


def test_mean_power_is_told_from_the_energy_counter() -> None:
    rows = [one_slow(t, f156=[1e9 + t * 4e5] * 8) for t in range(0, 40, 10)]
    found = judge(rows)
    assert [e.value for e in found[0].evidence if e.what.startswith("mean power")] == [400.0]


def test_sentinels_are_no_readings() -> None:
    blank = 2147483634.0
    assert judge([at(t, only(3, blank, 1930.0), only(3, blank), f153=only(3, blank, 20.0)) for t in range(9)]) == []
