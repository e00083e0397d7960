"""Hours and days in UTC, and the window that a run is about."""

from datetime import date, datetime

import dagster as dg

from pipelines.settings import pipeline_settings

FIRST = f"{pipeline_settings().first_day}"
HOURS = dg.HourlyPartitionsDefinition(start_date=f"{FIRST}-00:00", timezone="UTC")
# Today has a partition too: it is rebuilt as its hours pass.
DAYS = dg.DailyPartitionsDefinition(start_date=FIRST, timezone="UTC", end_offset=1)

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"


def window(context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext) -> tuple[datetime, datetime]:
    """[start, end) of the run's partitions: one, or a whole back-fill in a single run."""
    span = context.partition_time_window
    return span.start, span.end


def hour_key(moment: date) -> str:
    """The partition of an hour that starts then: `2026-03-02-05:00`."""
    return f"{moment:%Y-%m-%d-%H:%M}"


def day_key(moment: date) -> str:
    """The partition of the day that holds the moment: `2026-03-02`."""
    return f"{moment:%Y-%m-%d}"


def one_run(first: str, last: str) -> dict[str, str]:
    """Tags that make one run build the partitions from `first` to `last`."""
    return {RANGE_START: first, RANGE_END: last}
