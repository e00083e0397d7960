"""Slow GPUs from counters alone: scrapes in, exact edges out."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec import structs

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.counter_straggler import CounterStragglerDetector
from streams.detectors.counter_straggler_limits import CounterStragglerLimits
from tests.streams.scrapes import SECOND, T0, gpus, scrape
from tests.streams.stories_counter_straggler import Columns, node


def judge(messages: Sequence[Message | Tick], **limits: Any) -> list[Finding]:
    d = CounterStragglerDetector(CounterStragglerLimits(**limits))
    return d.step(d.fresh(), messages)[1]


def edges(found: Sequence[Finding]) -> list[tuple[float, str, str, str, str]]:
    return [((f.ts_us - T0) / SECOND, f.state, f.severity, f.cause, f.subject.id) for f in found]


def told(
    count: int,
    make: Callable[[random.Random], Columns],
    *,
    every_s: float = 10.0,
    from_s: float = 0.0,
    parts: list[Gpu] | None = None,
    seed: int = 1,
) -> list[GpuScrape]:
    rng = random.Random(seed)
    return [scrape(from_s + every_s * i, make(rng), parts=parts) for i in range(count)]


def scaled(columns: Columns, fields: Sequence[str], factors: Sequence[float]) -> Columns:
    return columns | {
        f: [None if v is None else v * factor for v, factor in zip(columns[f], factors, strict=True)] for f in fields
    }


def slow(rng: random.Random) -> Columns:
    return node(rng, slow=3)


@pytest.mark.parametrize("sigma", [0.002, 0.01, 0.05, 0.15])
def test_gpus_that_differ_by_noise_say_nothing(sigma: float) -> None:
    for seed in range(20):
        assert judge(told(200, lambda rng: node(rng, sigma=sigma), seed=seed)) == []


def test_a_gpu_at_a_lower_clock_that_others_wait_for_is_found_after_four_minutes() -> None:
    found = judge(told(60, slow))
    assert edges(found) == [(230, "opened", "warning", "gpu_slow_by_counters", "GPU-3")]
    assert found[0].confidence == "low"
    assert found[0].slowdown == pytest.approx(1 / 0.91, abs=0.01)
    assert "by GPU counters alone" in found[0].summary
    assert found[0].evidence[1].what.startswith("SM clock, the others 1")


def test_three_minutes_are_not_enough() -> None:
    assert judge([*told(18, slow), *told(60, node, from_s=180.0)]) == []


def test_slow_scrapes_need_no_more_windows_than_fit_into_four_minutes() -> None:
    assert [e[0] for e in edges(judge(told(30, slow, every_s=30.0)))] == [210.0]


def test_it_ends_when_it_has_been_like_the_others_for_four_minutes() -> None:
    found = judge([*told(40, slow), *told(60, node, from_s=400.0)])
    assert [e[:2] for e in edges(found)] == [(230, "opened"), (630, "cleared")]


def test_one_with_less_to_do_at_the_same_clock_is_for_the_record() -> None:
    found = judge(told(60, lambda rng: node(rng, starved=5)))
    assert edges(found) == [(230, "opened", "info", "gpu_starved_by_counters", "GPU-5")]


def test_one_with_more_to_do_at_the_same_clock_is_no_slow_gpu() -> None:
    def loaded(rng: random.Random) -> Columns:
        columns = node(rng)
        return columns | {
            f: [v * (1.3 if i == 2 else 1.0) for i, v in enumerate(columns[f]) if v is not None]
            for f in ("1002", "1004")
        }

    assert judge(told(100, loaded)) == []


def test_chips_that_differ_at_the_power_cap_are_life() -> None:
    clocks = [1500.0, 1530.0, 1470.0, 1560.0, 1440.0, 1515.0, 1485.0, 1545.0]

    def capped(rng: random.Random) -> Columns:
        return node(rng) | {"100": [c * rng.gauss(1.0, 0.005) for c in clocks], "112": [4.0] * 8}

    assert judge(told(200, capped)) == []


def test_jobs_and_models_are_not_compared_with_each_other() -> None:
    def two(rng: random.Random) -> Columns:
        columns = node(rng)
        return columns | {
            f: [v * (0.9 if i < 4 else 1.0) for i, v in enumerate(columns[f]) if v is not None] for f in ("100", "155")
        }

    jobs = [structs.replace(g, hpc_job="a" if i < 4 else "b") for i, g in enumerate(gpus(8))]
    models = [structs.replace(g, model="M1" if i < 4 else "M2") for i, g in enumerate(gpus(8))]
    assert judge(told(100, two, parts=jobs)) == []
    assert judge(told(100, two, parts=models)) == []


def test_fewer_than_four_are_no_comparison() -> None:
    jobs = [structs.replace(g, hpc_job="a" if i in (2, 3, 4) else "b") for i, g in enumerate(gpus(8))]
    assert judge(told(100, slow, parts=jobs)) == []


def test_a_job_that_changes_begins_a_new_comparison() -> None:
    rows = told(200, slow)
    changing = [
        structs.replace(r, gpus=[structs.replace(g, hpc_job=f"j{i // 5}") for g in r.gpus]) for i, r in enumerate(rows)
    ]
    assert judge(changing) == []


def test_idle_unreadable_and_missing_scrapes_clear_nothing() -> None:
    idle = [scrape(400.0 + 10 * i, {"100": 345.0, "1002": 0.0, "1004": 0.0}) for i in range(100)]
    unread = [scrape(1400.0 + 10 * i, dict.fromkeys(("100", "1002", "1004"))) for i in range(100)]
    assert [f.state for f in judge([*told(40, slow), *idle, *unread, Tick(T0 + 10**14)])] == ["opened"]


def test_a_few_fields_are_enough_and_the_clock_is_one_of_them() -> None:
    def few(rng: random.Random) -> Columns:
        return {f: v for f, v in slow(rng).items() if f in ("100", "155", "1002")}

    def no_clock(rng: random.Random) -> Columns:
        return {f: v for f, v in slow(rng).items() if f != "100"}

    assert [f.subject.id for f in judge(told(60, few))] == ["GPU-3"]
    assert judge(told(60, no_clock)) == []


def test_a_restart_keeps_what_is_open_and_ends_it() -> None:
    d = CounterStragglerDetector(CounterStragglerLimits())
    state, _ = d.step(d.fresh(), told(40, slow))
    kept = d.keep(state)
    assert kept is not None
    state, found = d.step(d.restore(kept), [*told(20, slow, from_s=400.0), *told(60, node, from_s=600.0)])
    assert [f.state for f in found] == ["cleared"]
    assert d.keep(state) is None


def test_a_loss_that_no_job_notices_is_left_alone() -> None:
    assert judge(told(200, lambda rng: scaled(node(rng), ("100",), [0.96 if i == 3 else 1.0 for i in range(8)]))) == []
