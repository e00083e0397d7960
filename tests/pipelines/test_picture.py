"""What a materialization shows, from rows by hand."""

import base64
import re
from datetime import UTC, date, datetime
from typing import Any

import pytest

from pipelines.ask import Row
from pipelines.numbers import effective_numbers, gpu_numbers, health_numbers, mfu_numbers, usable_numbers
from pipelines.partitions import day_key, hour_key
from pipelines.picture import (
    effective_table,
    factors,
    gpus_by_hour,
    health_table,
    mfu_plot,
    mfu_series,
    percent,
    usable_plot,
)

FIVE, SIX, SEVEN = (datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (5, 6, 7))
H = 3_600_000_000
JOB: Row = {
    "cluster": "c",
    "job": "j",
    "gpu_model": "H100",
    "gpus": 8,
    "reason": None,
    "model_flop": 40.0,
    "peak_flop": 100.0,
}
BUCKETS: list[Row] = [
    {"hour": FIVE, "cluster": "c", "bucket": "productive", "gpu_us": 3 * H},
    {"hour": FIVE, "cluster": "c", "bucket": "idle", "gpu_us": H},
    {"hour": SIX, "cluster": "c", "bucket": "down", "gpu_us": 4 * H},
]


class Answers:
    """Stands for the warehouse: rows by the statement's name."""

    def __init__(self, **rows: list[Row]) -> None:
        self.rows = rows

    def __call__(self, name: str, **_: object) -> list[Row]:
        return self.rows[name]


def test_each_hour_has_its_own_shares() -> None:
    ask = Answers(buckets_by_hour=BUCKETS)
    assert usable_numbers(ask, FIVE, SEVEN, hour_key) == {
        "2026-03-02-05:00": {"usable_pct": 100, "occupancy_pct": 75, "goodput_pct": 100},
        # Nothing usable: no occupancy, no goodput.
        "2026-03-02-06:00": {"usable_pct": 0},
    }
    assert usable_numbers(ask, FIVE, SEVEN, day_key) == {
        "2026-03-02": {"usable_pct": 50, "occupancy_pct": 75, "goodput_pct": 100}
    }


def test_jobs_of_unknown_mfu_count_as_jobs_and_in_no_ratio() -> None:
    rows = [{**JOB, "hour": FIVE}, {**JOB, "hour": FIVE, "job": "k", "model_flop": None}]
    assert mfu_numbers(Answers(mfu_by_hour=rows), FIVE, SIX, hour_key) == {
        "2026-03-02-05:00": {"mfu_pct": 40, "jobs": 2}
    }


def test_a_silent_fleet_has_no_score() -> None:
    row = {"score_us": 0.0, "known_us": 0, "lowest_score": None, "unschedulable_nodes": 0, "silent_nodes": 3}
    told = health_numbers(Answers(health_by_hour=[{"hour": FIVE, "cluster": "c", **row}]), FIVE, SIX, hour_key)
    assert told == {"2026-03-02-05:00": {"most_nodes_out_of_service": 0, "most_nodes_silent": 3}}


def test_gpus_of_all_clusters_are_told_at_the_days_last_hour() -> None:
    rows = [{"day": date(2026, 3, 2), "cluster": c, "gpus": 8, "nodes": 1} for c in ("a", "b")]
    assert gpu_numbers(Answers(gpus_by_day=rows), FIVE, SIX, hour_key) == {"2026-03-02-23:00": {"gpus": 16, "nodes": 2}}


EFFECTIVE: dict[str, Any] = {
    "day": date(2026, 3, 2),
    "cluster": "c",
    "installed_us": 100,
    "usable_us": 80,
    "allocated_us": 40,
    "productive_us": 20,
    "model_flop": 40.0,
    "peak_flop": 100.0,
    "unknown_gpu_s": 1800.0,
}


def test_effective_compute_is_the_product_of_its_factors() -> None:
    usable, occupancy, goodput, used, whole = factors(EFFECTIVE)
    assert (usable, occupancy, goodput, used) == (0.8, 0.5, 0.5, 0.4)
    assert whole == pytest.approx(0.8 * 0.5 * 0.5 * 0.4)
    assert effective_numbers(Answers(effective_by_day=[EFFECTIVE]), FIVE, SIX, day_key) == {
        "2026-03-02": {"effective_pct": 8, "gpu_hours_of_unknown_mfu": 0.5}
    }
    shown = effective_table(Answers(effective_by_day=[EFFECTIVE]), FIVE, SIX)["effective"].value
    assert "| 2026-03-02 | c | 80.0 % | 50.0 % | 50.0 % | 40.0 % | 8.0 % |" in shown


def test_a_plot_is_an_image_inside_the_markdown_and_small() -> None:
    shown = usable_plot(Answers(buckets_by_hour=BUCKETS), FIVE, SEVEN)
    assert "| productive | 3.0 | 37.5 % |" in shown["buckets"].value
    jobs = mfu_plot(Answers(mfu_by_job=[JOB], mfu_by_hour=[{**JOB, "hour": FIVE}]), FIVE, SIX)
    assert "| j | H100 | 8 | 40.0 % |  |" in jobs["jobs"].value
    for plot in (shown["plot"].value, jobs["plot"].value):
        (inside,) = re.findall(r"^!\[.+\]\(data:image/png;base64,(.+)\)$", plot)
        assert base64.b64decode(inside).startswith(b"\x89PNG")
        assert len(inside) < 20_000


def test_no_gpu_at_all_is_said() -> None:
    assert usable_plot(Answers(buckets_by_hour=[]), FIVE, SIX) == {"note": "no GPU was installed"}


def test_nodes_that_were_never_heard_have_a_dash_for_a_score() -> None:
    node = {"node": "n1", "score": None, "last_state": "unknown", "causes": ["xid_79"]}
    shown = health_table(Answers(health_by_node=[node]), FIVE, SIX)["nodes"].value
    assert "| n1 | – | unknown | xid 79 |" in shown


def test_hours_without_a_bucket_are_zero_and_a_gap_in_mfu_is_a_gap() -> None:
    hours, gpus = gpus_by_hour(BUCKETS)
    assert hours == [FIVE, SIX]
    assert (gpus["productive"], gpus["down"], gpus["lost"]) == ([3, 0], [0, 4], [0, 0])
    rows = [{**JOB, "hour": FIVE}, {**JOB, "hour": SIX, "peak_flop": None}]
    assert mfu_series(rows) == {"j": ([FIVE, SIX], [40.0, None])}
    assert (percent(0.0), percent(None)) == ("0.0 %", "–")
