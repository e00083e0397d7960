"""What Dagster makes of the rollups: assets, partitions, checks, schedules, and runs in process."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import msgspec
import pytest

from collectors.contract.errors import UserError
from collectors.contract.job import StepReport
from collectors.contract.message import Message
from collectors.contract.topics import GPU_SCRAPES, JOB_PLACEMENTS, JOB_STEPS
from pipelines.definitions import defs
from pipelines.materialize import materialize
from pipelines.partitions import hour_key
from pipelines.rollup import ALL
from pipelines.schedules import daily_schedule, hourly_schedule, recent_schedule, report_schedule
from tests.pipelines.conftest import Lake
from tests.pipelines.test_mfu import placed, report
from tests.pipelines.test_usable_compute import DAY, scrapes
from warehouse.settings import warehouse_settings

GRAPH = defs.resolve_asset_graph()
# Partitions are of the past, whenever the test runs.
YESTERDAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
FIVE = YESTERDAY + timedelta(hours=5)


NAMES = ("hourly_schedule", "recent_schedule", "daily_schedule", "report_schedule", "pasts_schedule")


def node(name: str) -> Any:
    return GRAPH.get(dg.AssetKey(name))


def test_there_is_an_asset_for_every_rollup_and_the_report() -> None:
    tables = {node(key.to_user_string()).metadata.get("table") for key in GRAPH.get_all_asset_keys()}
    assert tables == {*(rollup.table for rollup in ALL), None}


def test_every_rollup_has_a_check_or_is_summed_from_one_that_has() -> None:
    checked = {key.asset_key for key in GRAPH.asset_check_keys}
    for key in GRAPH.get_all_asset_keys() - {dg.AssetKey("daily_report"), dg.AssetKey("memory_pasts")}:
        assert key in checked or checked & node(key.to_user_string()).parent_keys, key


def test_hours_feed_days() -> None:
    def kinds(group: str) -> set[str]:
        assets = (node(key.to_user_string()) for key in GRAPH.get_all_asset_keys())
        return {type(asset.partitions_def).__name__ for asset in assets if asset.group_name == group}

    assert kinds("inventory") == kinds("hourly") == {"HourlyPartitionsDefinition"}
    assert kinds("daily") == kinds("reports") == {"DailyPartitionsDefinition"}


@pytest.mark.parametrize(
    ("schedule", "run_key", "first", "last"),
    [
        (hourly_schedule, "hours-2026030200", "2026-03-01-22:00", "2026-03-01-23:00"),
        (recent_schedule, "recent-20260302", "2026-02-28-00:00", "2026-03-01-23:00"),
        (daily_schedule, "days-20260302", "2026-02-28", "2026-03-01"),
        (report_schedule, "reports-20260302", "2026-02-28", "2026-03-01"),
    ],
)
def test_a_schedule_asks_for_these_partitions_in_one_run(
    schedule: dg.ScheduleDefinition, run_key: str, first: str, last: str
) -> None:
    at = datetime(2026, 3, 2, 0, 45, tzinfo=UTC)
    (asked,) = schedule.evaluate_tick(dg.build_schedule_context(scheduled_execution_time=at)).run_requests or ()
    assert asked.run_key == run_key
    assert asked.partition_key is None
    assert asked.tags["dagster/asset_partition_range_start"] == first
    assert asked.tags["dagster/asset_partition_range_end"] == last


def test_schedules_run_unless_they_are_stopped() -> None:
    schedules = [defs.get_schedule_def(name) for name in NAMES]
    assert {(s.name, s.cron_schedule, s.default_status.value, s.execution_timezone) for s in schedules} == {
        ("hourly_schedule", "5 * * * *", "RUNNING", "UTC"),
        ("recent_schedule", "15 0 * * *", "RUNNING", "UTC"),
        ("daily_schedule", "30 0 * * *", "RUNNING", "UTC"),
        ("report_schedule", "45 0 * * *", "RUNNING", "UTC"),
        ("pasts_schedule", "10 0 * * *", "RUNNING", "UTC"),
    }


BY_US = round((YESTERDAY - DAY).total_seconds() * 1e6)


def moved(messages: Iterable[Message]) -> list[Message]:
    """Messages of the tests' day as of yesterday."""
    return [msgspec.structs.replace(one, ts_us=one.ts_us + BY_US) for one in messages]


def moved_steps(*reports: StepReport) -> list[Message]:
    """The same of steps."""
    return moved(
        msgspec.structs.replace(one, start_us=[None if at is None else at + BY_US for at in one.start_us])
        for one in reports
    )


@pytest.fixture
def home(state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DAGSTER_HOME", str(state / "dagster"))
    return state / "dagster"


def test_a_range_of_hours_then_its_day_and_report_and_again_changes_nothing(
    lake: Lake, state: Path, home: Path
) -> None:
    lake.fill(
        (GPU_SCRAPES, moved(scrapes("n1", ["g0", "g1"], -3600, 3600))),
        (JOB_PLACEMENTS, moved([placed(1, 2, flops_per_token=1e13)])),
        (JOB_STEPS, moved_steps(report(2), msgspec.structs.replace(report(1), job="ghost"))),
    )
    heard: list[str] = []
    materialize(FIVE - timedelta(hours=1), FIVE + timedelta(hours=1), heard.append, reports=1)
    assert [line for line in heard if line.startswith("check failed")] == [
        "check failed: jobs_with_steps_were_placed of job_inventory: ghost (1 ranks)",
        "check failed: mfu_is_possible of mfu_hourly: j: 20212.2 %",
    ]
    assert (state / "reports" / f"{YESTERDAY:%Y-%m-%d}.html").is_file()

    keys = [hour_key(FIVE - timedelta(hours=1)), hour_key(FIVE)]
    with dg.DagsterInstance.from_config(str(home)) as instance:
        built = instance.fetch_materializations(dg.AssetKey("usable_compute_hourly"), limit=10).records
        shown = {event.partition_key: event.asset_materialization.metadata for event in built}  # type: ignore[union-attr]
        assert sorted(key for key in shown if key) == keys
        assert {key: shown[key]["occupancy_pct"].value for key in keys} == {keys[0]: 0.0, keys[1]: 100.0}
        assert ["plot" in shown[key] for key in keys] == [False, True]
        last = instance.get_latest_materialization_event(dg.AssetKey("usable_compute"))
        assert last is not None
        assert last.asset_materialization is not None
        assert last.asset_materialization.partition == f"{YESTERDAY:%Y-%m-%d}"

    def rows() -> dict[str, list[dict[str, Any]]]:
        return {r.table: lake.ask(f"select * exclude (as_of) from {r.table} order by all") for r in ALL}

    before = rows()
    assert all(before.values())
    for rollup in ALL:
        start = YESTERDAY if rollup.column == "day" else FIVE - timedelta(hours=1)
        lake.roll(rollup, start, YESTERDAY + timedelta(days=1) if rollup.column == "day" else FIVE + timedelta(hours=1))
    assert rows() == before


def test_a_partition_that_does_not_exist_is_named(state: Path, home: Path) -> None:
    with pytest.raises(UserError, match=r"no partition 1999-12-31-23:00: they go from 2026-01-01"):
        materialize(datetime(1999, 12, 31, 23, tzinfo=UTC), FIVE)


def test_a_step_that_fails_says_why_and_is_not_tried_again(
    state: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKSTEP_STATE", str(state / "empty"))
    warehouse_settings.cache_clear()
    with pytest.raises(UserError, match=r"hourly_rollups failed: gpu_inventory: no warehouse at .*; job_inventory: no"):
        materialize(FIVE, FIVE + timedelta(hours=1))
    with dg.DagsterInstance.from_config(str(home)) as instance:
        (run,) = instance.get_runs()
        retried = [
            event
            for event in instance.all_logs(run.run_id)
            if event.dagster_event_type == dg.DagsterEventType.STEP_UP_FOR_RETRY
        ]
    assert retried == []
