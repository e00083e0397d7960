"""Health of a node over an hour, weighted by the time each score held."""

from datetime import timedelta
from typing import Any

import pytest

from collectors.contract.topics import GPU_SCRAPES
from pipelines.rollup import GPU_DAYS, HEALTH_DAILY, HEALTH_HOURLY
from streams.contract import NODE_HEALTH, HealthReason, HealthState, NodeHealth
from tests.pipelines.conftest import Lake
from tests.pipelines.test_usable_compute import DAY, HOUR, S, T, scrapes


def health(at_s: int, score: float, state: HealthState, *causes: str) -> NodeHealth:
    return NodeHealth(
        ts_us=T + at_s * S,
        node="n1",
        score=score,
        schedulable=state != "cordoned",
        state=state,
        reasons=[HealthReason(cause=c, points=10, part="g0", since_us=T, finding="f") for c in causes],
    )


def rolled(lake: Lake) -> list[dict[str, Any]]:
    lake.roll(GPU_DAYS, DAY, DAY + timedelta(days=1))
    lake.roll(HEALTH_HOURLY, HOUR, HOUR + timedelta(hours=1))
    return lake.ask("select *, score_us / nullif(known_us, 0) as score from fleet_health_hourly order by node")


def test_a_score_counts_for_the_time_it_held(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (NODE_HEALTH, [health(1800, 60, "suspect", "thermal_throttle"), health(2700, 0, "cordoned", "xid_79")]),
    )
    (row,) = rolled(lake)
    assert row["score"] == pytest.approx((100 * 1800 + 60 * 900) / 3600)
    assert (row["lowest_score"], row["last_score"], row["last_state"]) == (0, 0, "cordoned")
    assert row["unschedulable_us"] == 900 * S
    assert row["causes"] == ["thermal_throttle", "xid_79"]


def test_silence_is_no_score_at_all(lake: Lake) -> None:
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0"], 0, 900)), (GPU_SCRAPES, scrapes("n2", ["g1"], -7200, -3600)))
    one, two = rolled(lake)
    assert (one["known_us"], one["silent_us"], one["score"]) == (900 * S, 2700 * S, 100)
    assert (two["known_us"], two["score"], two["last_state"]) == (0, None, "unknown")


def test_a_score_of_yesterday_still_holds(lake: Lake) -> None:
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)), (NODE_HEALTH, [health(-90_000, 40, "suspect", "x")]))
    (row,) = rolled(lake)
    assert (row["score"], row["last_state"], row["causes"]) == (40, "suspect", ["x"])
    lake.roll(HEALTH_DAILY, DAY, DAY + timedelta(days=1))
    (daily,) = lake.ask("select score_us / known_us as score, causes from fleet_health_daily")
    assert daily == {"score": 40, "causes": ["x"]}
