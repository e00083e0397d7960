"""When rollups run: every hour the hour before and its predecessor; every day the last two days anew."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import dagster as dg

from pipelines.assets import DAILY_ASSETS, HOURLY_ASSETS, daily_report
from pipelines.partitions import day_key, hour_key, one_run
from pipelines.pasts import memory_pasts

RECENT = timedelta(hours=48)
"""Lost work is known only after a restart, late samples arrive from spools: this much is rebuilt every day."""

hourly_job = dg.define_asset_job("hourly_rollups", selection=dg.AssetSelection.assets(*HOURLY_ASSETS))
daily_job = dg.define_asset_job("daily_rollups", selection=dg.AssetSelection.assets(*DAILY_ASSETS))
report_job = dg.define_asset_job("daily_report_file", selection=dg.AssetSelection.assets(daily_report))


def recent_hours(now: datetime, span: timedelta) -> dict[str, str]:
    """Tags of one run over the whole hours of `span` before `now`."""
    top = now.replace(minute=0, second=0, microsecond=0)
    return one_run(hour_key(top - span), hour_key(top - timedelta(hours=1)))


def recent_days(now: datetime) -> dict[str, str]:
    """Tags of one run over the two whole days before `now`."""
    return one_run(day_key(now - timedelta(days=2)), day_key(now - timedelta(days=1)))


@dg.schedule(
    job=hourly_job,
    cron_schedule="5 * * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="The last two whole hours, five minutes past the hour.",
)
def hourly_schedule(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
    """The hour before last is rebuilt once more, with what came late."""
    now = context.scheduled_execution_time
    yield dg.RunRequest(run_key=f"hours-{now:%Y%m%d%H}", tags=recent_hours(now, timedelta(hours=2)))


@dg.schedule(
    target=dg.AssetSelection.assets(*HOURLY_ASSETS),
    cron_schedule="15 0 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="The hours of the last two days, anew: lost work is known only after a restart.",
)
def recent_schedule(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
    """Before the days are summed."""
    now = context.scheduled_execution_time
    yield dg.RunRequest(run_key=f"recent-{now:%Y%m%d}", tags=recent_hours(now, RECENT))


@dg.schedule(
    job=daily_job,
    cron_schedule="30 0 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="The last two days, at half past midnight UTC.",
)
def daily_schedule(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
    """After their hours were built anew."""
    now = context.scheduled_execution_time
    yield dg.RunRequest(run_key=f"days-{now:%Y%m%d}", tags=recent_days(now))


@dg.schedule(
    job=report_job,
    cron_schedule="45 0 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="The reports of the last two days, at a quarter to one UTC.",
)
def report_schedule(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
    """A file a day; the older day's is its final form."""
    now = context.scheduled_execution_time
    yield dg.RunRequest(run_key=f"reports-{now:%Y%m%d}", tags=recent_days(now))


pasts_schedule = dg.ScheduleDefinition(
    name="pasts_schedule",
    target=dg.AssetSelection.assets(memory_pasts),
    cron_schedule="10 0 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="What the detectors must know of the days before, ten past midnight UTC.",
)

SCHEDULES = [hourly_schedule, recent_schedule, daily_schedule, report_schedule, pasts_schedule]
JOBS = [hourly_job, daily_job, report_job]
