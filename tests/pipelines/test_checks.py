"""Checks find what they are for."""

from datetime import timedelta
from typing import Any

import pytest

from collectors.contract.job import JobEvent, Placement
from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, JOB_PLACEMENTS
from pipelines.ask import asking
from pipelines.checks import odd_mfu, wrong_sums
from pipelines.rollup import GPU_DAYS, USABLE_HOURLY
from tests.pipelines.conftest import Lake
from tests.pipelines.test_usable_compute import DAY, HOUR, scrapes
from warehouse.settings import WarehouseSettings

GOOD: dict[str, Any] = {"hour": HOUR, "cluster": "c", "gpu_us": 7, "installed_us": 7, "doubled": 0, "least": 1}


def test_buckets_that_sum_to_what_is_installed_are_right() -> None:
    assert wrong_sums([GOOD]) == []


@pytest.mark.parametrize("change", [{"gpu_us": 6}, {"gpu_us": 8}, {"doubled": 1}, {"least": -1}])
def test_a_missing_doubled_or_negative_microsecond_is_found(change: dict[str, int]) -> None:
    (line,) = wrong_sums([GOOD, GOOD | change])
    assert line.startswith("2026-03-02 05:00 c: buckets sum to ")


def test_an_impossible_mfu_is_told_from_an_implausible_one() -> None:
    def job(name: str, flop: float | None) -> dict[str, Any]:
        return {"job": name, "model_flop": flop, "peak_flop": 100.0}

    rows = [job("fine", 40.0), job("odd", 71.0), job("wrong", 101.0), job("unknown", None), job("less", -1.0)]
    assert odd_mfu(rows) == (["wrong: 101.0 %", "less: -1.0 %"], ["odd: 71.0 %"])


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("select 1", []),
        ("update usable_compute_hourly set gpu_us = gpu_us + 1", ["buckets sum to 3600000001 us of 3600000000 us"]),
        (
            "insert into usable_compute_hourly select * from usable_compute_hourly",
            ["buckets sum to 7200000000 us of 3600000000 us"],
        ),
        ("delete from usable_compute_hourly", ["buckets sum to 0 us of 3600000000 us"]),
    ],
)
def test_damage_to_the_table_is_found_against_the_inventory(lake: Lake, damage: str, found: list[str]) -> None:
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)))
    lake.roll(GPU_DAYS, DAY, DAY + timedelta(days=1))
    lake.roll(USABLE_HOURLY, HOUR, HOUR + timedelta(hours=1))
    lake.change(damage)
    with asking(WarehouseSettings(state=str(lake.folder))) as ask:
        told = wrong_sums(ask("bucket_sums", start=HOUR, end=HOUR + timedelta(hours=1)))
    assert [line.partition(": ")[2] for line in told] == found


def test_two_jobs_on_one_gpu_are_told_and_one_job_under_two_names_is_not(lake: Lake) -> None:
    def placed(job: str, minute: int, *ranks: Placement, **more: Any) -> JobEvent:
        return JobEvent(ts_us=at(minute), job=job, kind="placed", placement=list(ranks), **more)

    def ended(job: str, minute: int) -> JobEvent:
        return JobEvent(ts_us=at(minute), job=job, kind="ended", source="slurm")

    def at(minute: int) -> int:
        return int(HOUR.timestamp() + 60 * minute) * 1_000_000

    own = placed("llm", 1, Placement(rank=0, node="n1", gpu_uuid="g0"), aliases=["77"])
    slurm = [
        placed("77", 0, Placement(rank=-1, node="n1", gpu_index=0), source="slurm"),
        placed("78", 10, Placement(rank=-1, node="n1", gpu_index=0), source="slurm"),
        placed("79", 0, Placement(rank=-1, node="n1", gpu_index=1), source="slurm"),
        placed("80", 30, Placement(rank=-1, node="n1", gpu_index=1), source="slurm"),
    ]
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0", "g1"], 0, 3600)),
        (JOB_PLACEMENTS, [own, *slurm]),
        (JOB_EVENTS, [own, ended("78", 25), ended("79", 30)]),
    )
    lake.roll(GPU_DAYS, DAY, DAY + timedelta(days=1))
    with asking(WarehouseSettings(state=str(lake.folder))) as ask:
        rows = ask("overlapping_placements", start=HOUR, end=HOUR + timedelta(hours=1))
    assert [(r["gpu"], r["job"], r["other_job"], r["seconds"]) for r in rows] == [("g0", "78", "llm", 900)]
