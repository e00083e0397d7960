"""Availability, time between failures, time to repair."""

from datetime import timedelta

import pytest

from collectors.contract.topics import GPU_SCRAPES
from pipelines.numbers import reliability
from pipelines.rollup import (
    GPU_DAYS,
    HEALTH_DAILY,
    HEALTH_HOURLY,
    JOB_DAYS,
    RELIABILITY_DAILY,
    USABLE_DAILY,
    USABLE_HOURLY,
)
from streams.contract import NODE_HEALTH, HealthState, NodeHealth
from tests.pipelines.conftest import Lake
from tests.pipelines.test_usable_compute import DAY, H, S, T, scrapes

MIDNIGHT_S = -5 * 3600


def said(at_s: int, state: HealthState) -> NodeHealth:
    return NodeHealth(ts_us=T + at_s * S, node="n1", score=50, schedulable=state != "cordoned", state=state, reasons=[])


def test_an_outage_over_midnight_fails_on_one_day_and_is_mended_on_the_next(lake: Lake) -> None:
    start_s, hour = MIDNIGHT_S - 86_400, 3600
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0", "g1"], start_s, start_s + 2 * 86_400, every_s=300)),
        (
            NODE_HEALTH,
            [
                # Suspect is no failure. Out of service from 22:00 to 03:00, and again from 20:00 on.
                said(MIDNIGHT_S - 12 * hour, "suspect"),
                said(MIDNIGHT_S - 2 * hour, "cordoned"),
                said(MIDNIGHT_S - 1 * hour, "cordoned"),
                said(MIDNIGHT_S + 3 * hour, "healthy"),
                said(MIDNIGHT_S + 20 * hour, "cordoned"),
            ],
        ),
    )
    first, end = DAY - timedelta(days=1), DAY + timedelta(days=1)
    for rollup in (GPU_DAYS, JOB_DAYS, USABLE_HOURLY, HEALTH_HOURLY, USABLE_DAILY, HEALTH_DAILY, RELIABILITY_DAILY):
        lake.roll(rollup, first, end)
    rows = lake.ask("select * from reliability_daily order by day")
    assert [(r["failures"], r["repairs"], r["repair_us"], r["out_of_service_us"]) for r in rows] == [
        (1, 0, 0, 4 * H),
        (1, 1, 5 * H, 14 * H),
    ]
    assert [r["up_us"] for r in rows] == [22 * H, 17 * H]
    of = reliability(rows)
    assert of.availability == pytest.approx(1 - 18 / 96)
    assert (of.failures, of.mtbf_h, of.mttr_h) == (2, (22 + 17) / 2, 5)


def test_without_a_failure_there_is_no_time_between_failures() -> None:
    names = ("installed_us", "down_us", "out_of_service_us", "up_us", "failures", "repairs", "repair_us")
    quiet = reliability([dict.fromkeys(names, 0) | {"installed_us": 5, "up_us": 5}])
    assert (quiet.availability, quiet.failures, quiet.mtbf_h, quiet.mttr_h) == (1, 0, None, None)
    assert reliability([]).availability is None
