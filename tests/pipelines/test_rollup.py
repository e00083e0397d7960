"""Rebuilding partitions: bounds, tables of an earlier form, no warehouse."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collectors.contract.errors import UserError
from collectors.contract.topics import GPU_SCRAPES
from pipelines.rollup import GPU_DAYS, MFU_HOURLY, USABLE_HOURLY, Rollup, aligned, rebuild
from tests.pipelines.conftest import Lake
from tests.pipelines.test_usable_compute import DAY, HOUR, scrapes
from warehouse.settings import WarehouseSettings


@pytest.mark.parametrize(
    ("rollup", "start", "end"),
    [
        (MFU_HOURLY, HOUR + timedelta(minutes=1), HOUR + timedelta(hours=1)),
        (MFU_HOURLY, HOUR, HOUR),
        (GPU_DAYS, HOUR, HOUR + timedelta(days=1)),
        (GPU_DAYS, DAY + timedelta(days=1), DAY),
    ],
)
def test_a_part_of_a_partition_is_not_rebuilt(lake: Lake, rollup: Rollup, start: datetime, end: datetime) -> None:
    with pytest.raises(UserError, match=f"{rollup.table}: .* are no whole {rollup.column}s"):
        lake.roll(rollup, start, end)


def test_a_moment_belongs_to_its_utc_partition() -> None:
    moment = datetime.fromisoformat("2026-03-02T01:59:59+02:00")
    assert aligned(MFU_HOURLY, moment) == datetime(2026, 3, 1, 23, tzinfo=UTC)
    assert aligned(GPU_DAYS, moment) == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_rollup_of_nothing_makes_no_warehouse(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no warehouse at .*: `lockstep load` makes it"):
        rebuild(GPU_DAYS, DAY, DAY + timedelta(days=1), settings=WarehouseSettings(state=str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_rows_are_told_by_partition_and_other_partitions_stay(lake: Lake) -> None:
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0", "g1"], -3600, 3600)))
    lake.roll(GPU_DAYS, DAY, DAY + timedelta(days=1))
    assert lake.roll(USABLE_HOURLY, HOUR - timedelta(hours=2), HOUR + timedelta(hours=1)) == {
        HOUR - timedelta(hours=1): 1,
        HOUR: 1,
    }
    lake.change("update usable_compute_hourly set gpu_us = 5")
    lake.roll(USABLE_HOURLY, HOUR, HOUR + timedelta(hours=1))
    rows = lake.ask("select gpu_us from usable_compute_hourly order by hour")
    assert [row["gpu_us"] for row in rows] == [5, 2 * 3_600_000_000]


def test_a_table_of_an_earlier_form_is_widened_and_keeps_its_rows(lake: Lake) -> None:
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0"], 0, 60)))
    lake.roll(GPU_DAYS, DAY, DAY + timedelta(days=1))
    lake.change("alter table gpu_days drop column pci")
    next_day = DAY + timedelta(days=1)
    rebuild(GPU_DAYS, next_day, next_day + timedelta(days=1), settings=WarehouseSettings(state=str(lake.folder)))
    assert lake.ask("select gpu_uuid, pci from gpu_days") == [{"gpu_uuid": "g0", "pci": None}]
