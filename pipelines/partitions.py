"""Hours and days in UTC, and the window that a run is about."""

from datetime import datetime

import dagster as dg

from pipelines.settings import pipeline_settings

FIRST = f"{pipeline_settings().first_day}"
HOURS = dg.HourlyPartitionsDefinition(start_date=f"{FIRST}-00:00", timezone="UTC")
# Today has a partition too: it is rebuilt as its hours pass.
DAYS = dg.DailyPartitionsDefinition(start_date=FIRST, timezone="UTC", end_offset=1)


def window(context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext) -> tuple[datetime, datetime]:
    """[start, end) of the run's partitions: one, or a whole back-fill in a single run."""
    span = context.partition_time_window
    return span.start, span.end
