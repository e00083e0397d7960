"""The rollups as Dagster assets: hours of detail, days of sums, each with something to look at."""

import warnings
from datetime import datetime, timedelta

import dagster as dg

from collectors.contract.errors import UserError
from pipelines.ask import asking
from pipelines.numbers import (
    Numbers,
    effective_numbers,
    gpu_numbers,
    health_numbers,
    mfu_numbers,
    reliability_numbers,
    usable_numbers,
)
from pipelines.partitions import DAYS, HOURS, day_key, hour_key, window
from pipelines.picture import Picture, effective_table, health_table, mfu_plot, reliability_table, usable_plot
from pipelines.rollup import (
    DAY,
    EFFECTIVE_DAILY,
    GPU_DAYS,
    HEALTH_DAILY,
    HEALTH_HOURLY,
    HOUR,
    JOB_DAYS,
    MFU_DAILY,
    MFU_HOURLY,
    RELIABILITY_DAILY,
    USABLE_DAILY,
    USABLE_HOURLY,
    Rollup,
    aligned,
    rebuild,
    statement,
)

# Ranges of partitions in one run are what the roll-ups need; Dagster calls the parameter beta on every use.
warnings.filterwarnings("ignore", message=".*backfill_policy.*", category=dg.BetaWarning)

POOL = "warehouse_write"
SHOWN = {HOUR: timedelta(hours=24), DAY: timedelta(days=14)}
"""How much of the past a picture shows: a single hour says little."""
GROUPS = {(DAY, HOUR): "inventory", (HOUR, HOUR): "hourly", (DAY, DAY): "daily"}
"""By what a row and what a partition stands for."""


def rollup_asset(
    name: str,
    rollup: Rollup,
    partitions: dg.TimeWindowPartitionsDefinition,
    description: str,
    *deps: dg.AssetsDefinition,
    numbers: Numbers | None = None,
    picture: Picture | None = None,
) -> dg.AssetsDefinition:
    """An asset that rebuilds a rollup's partitions, a whole back-fill in one run.

    Every partition carries its own `numbers`; the last one of a run carries the `picture`, which is some ten kilobytes.
    A daily table that hours read (`partitions` are hours then) is rebuilt for the days that hold them.
    """
    key = day_key if partitions is DAYS else hour_key

    @dg.asset(
        name=name,
        partitions_def=partitions,
        deps=list(deps),
        group_name=GROUPS[rollup.grain, _length(partitions)],
        pool=POOL,
        backfill_policy=dg.BackfillPolicy.single_run(),
        retry_policy=dg.RetryPolicy(max_retries=2, delay=5),
        kinds={"duckdb", "sql"},
        description=description,
        metadata={"table": rollup.table, "rows": _meaning(rollup)},
    )
    def build(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        start, end = window(context)
        first, last = whole_days(start, end) if rollup.column == "day" else (start, end)
        try:
            rows = rebuild(rollup, first, last)
        except UserError as why:
            # To try again what a person has to mend only hides it.
            raise dg.Failure(str(why), allow_retries=False) from why
        context.log.info(f"{rollup.table}: {sum(rows.values())} rows, {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}")
        counts = {key(moment): {"dagster/partition_row_count": count} for moment, count in rows.items()}
        with asking() as ask:
            told = numbers(ask, start, end, key) if numbers else {}
            shown = picture(ask, end - SHOWN[_length(partitions)], end) if picture else {}
        for partition in context.partition_keys:
            context.add_asset_metadata(
                {**counts.get(partition, {}), **told.get(partition, {})}, partition_key=partition
            )
        context.add_asset_metadata(shown, partition_key=context.partition_keys[-1])
        return dg.MaterializeResult()

    return build


def whole_days(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """The days that hold [start, end)."""
    return aligned(GPU_DAYS, start), aligned(GPU_DAYS, end - timedelta(microseconds=1)) + DAY


def _length(partitions: dg.TimeWindowPartitionsDefinition) -> timedelta:
    return DAY if partitions is DAYS else HOUR


def _meaning(rollup: Rollup) -> str:
    """What a row of the table is and what must not be summed: the comment on top of its file."""
    lines = statement("tables", rollup.table).splitlines()
    return " ".join(line.removeprefix("-- ") for line in lines if line.startswith("-- "))


gpu_inventory = rollup_asset(
    "gpu_inventory",
    GPU_DAYS,
    HOURS,
    "Which GPUs were seen on the days of these hours, and where: what counts as installed.",
    numbers=gpu_numbers,
)
job_inventory = rollup_asset(
    "job_inventory",
    JOB_DAYS,
    HOURS,
    "What was told of jobs on the days of these hours: placed, started, restarted, ended, and their model's shape.",
)
mfu_hourly = rollup_asset(
    "mfu_hourly",
    MFU_HOURLY,
    HOURS,
    "Model FLOP and peak FLOP of every job, by the hour. MFU is their quotient.",
    gpu_inventory,
    job_inventory,
    numbers=mfu_numbers,
    picture=mfu_plot,
)
usable_compute_hourly = rollup_asset(
    "usable_compute_hourly",
    USABLE_HOURLY,
    HOURS,
    "Every GPU-second of an hour in exactly one bucket, from no data to productive.",
    gpu_inventory,
    job_inventory,
    mfu_hourly,
    numbers=usable_numbers,
    picture=usable_plot,
)
fleet_health_hourly = rollup_asset(
    "fleet_health_hourly",
    HEALTH_HOURLY,
    HOURS,
    "Score and reasons of every node, by the hour.",
    gpu_inventory,
    numbers=health_numbers,
    picture=health_table,
)
mfu = rollup_asset(
    "mfu", MFU_DAILY, DAYS, "MFU of every job, by the day.", mfu_hourly, numbers=mfu_numbers, picture=mfu_plot
)
usable_compute = rollup_asset(
    "usable_compute",
    USABLE_DAILY,
    DAYS,
    "What share of the GPUs was usable, used, and used well, by the day.",
    usable_compute_hourly,
    numbers=usable_numbers,
    picture=usable_plot,
)
fleet_health = rollup_asset(
    "fleet_health",
    HEALTH_DAILY,
    DAYS,
    "Health of every node, by the day.",
    fleet_health_hourly,
    numbers=health_numbers,
    picture=health_table,
)
effective_compute = rollup_asset(
    "effective_compute",
    EFFECTIVE_DAILY,
    DAYS,
    "Useful FLOP over installed peak FLOP: usable x occupancy x goodput x MFU.",
    mfu,
    usable_compute,
    numbers=effective_numbers,
    picture=effective_table,
)

reliability = rollup_asset(
    "reliability",
    RELIABILITY_DAILY,
    DAYS,
    "Availability of GPUs; failures of nodes, time between them and time to repair.",
    usable_compute,
    fleet_health,
    numbers=reliability_numbers,
    picture=reliability_table,
)


@dg.asset(
    partitions_def=DAYS,
    deps=[effective_compute, fleet_health, reliability],
    group_name="reports",
    backfill_policy=dg.BackfillPolicy.single_run(),
    kinds={"html"},
    description="The day as one HTML file, plots inside.",
)
def daily_report(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """One file a day, in the reports folder."""
    from pipelines.report import write_report

    day, end = window(context)
    while day < end:
        path = write_report(day.date()).absolute()
        context.add_asset_metadata(
            {"file": dg.MetadataValue.path(str(path)), "open": dg.MetadataValue.url(path.as_uri())},
            partition_key=day_key(day),
        )
        day += DAY
    return dg.MaterializeResult()


HOURLY_ASSETS = [gpu_inventory, job_inventory, mfu_hourly, usable_compute_hourly, fleet_health_hourly]
DAILY_ASSETS = [mfu, usable_compute, fleet_health, effective_compute, reliability]
