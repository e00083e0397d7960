"""The rollups as Dagster assets: hours of detail, days of sums, each with something to look at."""

import warnings
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import dagster as dg

from pipelines.partitions import DAYS, HOURS, window
from pipelines.picture import effective_table, health_table, mfu_plot, usable_plot
from pipelines.rollup import (
    DAY,
    EFFECTIVE_DAILY,
    GPU_DAYS,
    HEALTH_DAILY,
    HEALTH_HOURLY,
    MFU_DAILY,
    MFU_HOURLY,
    USABLE_DAILY,
    USABLE_HOURLY,
    Rollup,
    aligned,
    rebuild,
)

# Ranges of partitions in one run are what the roll-ups need; Dagster calls the parameter beta on every use.
warnings.filterwarnings("ignore", message=".*backfill_policy.*", category=dg.BetaWarning)

Picture = Callable[[datetime, datetime], dict[str, Any]]
POOL = "warehouse_write"


def rollup_asset(
    name: str,
    rollup: Rollup,
    picture: Picture,
    description: str,
    *deps: dg.AssetsDefinition,
    bounds: Callable[[datetime, datetime], tuple[datetime, datetime]] = lambda start, end: (start, end),
) -> dg.AssetsDefinition:
    """An asset that rebuilds a rollup's partitions, a whole back-fill in one run, and shows a picture of them."""

    @dg.asset(
        name=name,
        partitions_def=HOURS if name.endswith("hourly") or name == "gpu_inventory" else DAYS,
        deps=list(deps),
        group_name="rollups",
        pool=POOL,
        backfill_policy=dg.BackfillPolicy.single_run(),
        retry_policy=dg.RetryPolicy(max_retries=2, delay=5),
        kinds={"duckdb", "sql"},
        description=description,
    )
    def build(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        start, end = window(context)
        rows = rebuild(rollup, *bounds(start, end))
        context.log.info(f"{rollup.table}: {rows} rows from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC")
        return dg.MaterializeResult(metadata={"dagster/partition_row_count": rows, **picture(start, end)})

    return build


def whole_days(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """The days that hold the hours of [start, end)."""
    return aligned(GPU_DAYS, start), aligned(GPU_DAYS, end - timedelta(microseconds=1)) + DAY


gpu_inventory = rollup_asset(
    "gpu_inventory",
    GPU_DAYS,
    lambda start, end: {},
    'Which GPUs were seen on the days of these hours: the inventory that "installed" counts.',
    bounds=whole_days,
)
mfu_hourly = rollup_asset("mfu_hourly", MFU_HOURLY, mfu_plot, "MFU of every job, by the hour.", gpu_inventory)
usable_compute_hourly = rollup_asset(
    "usable_compute_hourly",
    USABLE_HOURLY,
    usable_plot,
    "Every GPU-second of an hour in exactly one bucket.",
    gpu_inventory,
)
fleet_health_hourly = rollup_asset(
    "fleet_health_hourly", HEALTH_HOURLY, health_table, "Score and reasons of every node, by the hour.", gpu_inventory
)
mfu = rollup_asset("mfu", MFU_DAILY, mfu_plot, "MFU of every job, by the day.", mfu_hourly)
usable_compute = rollup_asset(
    "usable_compute",
    USABLE_DAILY,
    usable_plot,
    "What share of the GPUs was usable and used, by the day.",
    usable_compute_hourly,
)
fleet_health = rollup_asset(
    "fleet_health", HEALTH_DAILY, health_table, "Health of every node, by the day.", fleet_health_hourly
)
effective_compute = rollup_asset(
    "effective_compute",
    EFFECTIVE_DAILY,
    effective_table,
    "Useful FLOP over installed peak FLOP: usable x occupancy x goodput x MFU.",
    mfu,
    usable_compute,
)


@dg.asset(
    partitions_def=DAYS,
    deps=[effective_compute, fleet_health],
    group_name="reports",
    kinds={"html"},
    description="The day as one HTML file, plots inside.",
)
def daily_report(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """Written to the reports folder."""
    from pipelines.report import write_report

    start, _ = window(context)
    path = write_report(start.date())
    return dg.MaterializeResult(metadata={"report": dg.MetadataValue.path(str(path.absolute()))})


HOURLY_ASSETS = [gpu_inventory, mfu_hourly, usable_compute_hourly, fleet_health_hourly]
DAILY_ASSETS = [mfu, usable_compute, fleet_health, effective_compute]
