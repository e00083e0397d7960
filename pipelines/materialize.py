"""Build partitions now, as a run that the Dagster UI shows: `python -m pipelines.materialize --days 7`."""

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.contract.errors import UserError
from pipelines.settings import pipeline_settings

if TYPE_CHECKING:
    import dagster as dg

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def dagster_home() -> Path:
    """`DAGSTER_HOME`, or `dagster/` in the state folder; made with its settings where it is not there."""
    home = Path(os.environ.get("DAGSTER_HOME") or Path(pipeline_settings().state).absolute() / "dagster")
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copyfile(Path(__file__).with_name("dagster.yaml"), home / "dagster.yaml")
    os.environ["DAGSTER_HOME"] = str(home)
    return home


def materialize(
    start: datetime, end: datetime, told: Callable[[str], None] = lambda line: None, *, reports: int = 2
) -> None:
    """Build every hour of [start, end) in one run, its days in another, and the reports of the last `reports` days.

    `told` hears each stage, and each check that failed but stopped nothing. Raises `UserError` naming what failed.
    """
    import dagster as dg

    from pipelines.partitions import DAYS, HOURS, day_key, hour_key

    dagster_home()
    first, last = start.astimezone(UTC), end.astimezone(UTC) - HOUR
    report_from = max(first.date(), last.date() - (reports - 1) * DAY)
    stages = [
        ("hourly_rollups", HOURS, hour_key(first), hour_key(last)),
        ("daily_rollups", DAYS, day_key(first), day_key(last)),
        *([("daily_report_file", DAYS, day_key(report_from), day_key(last))] if reports else []),
    ]
    with dg.DagsterInstance.get() as instance:
        for job, partitions, first_key, last_key in stages:
            for key in (first_key, last_key):
                if not partitions.has_partition_key(key):
                    raise UserError(
                        f"there is no partition {key}: they go from {pipeline_settings().first_day} "
                        "(LOCKSTEP_FIRST_DAY) to the last hour that is over"
                    )
            told(f"{job.replace('_', ' ')}, {first_key} to {last_key} UTC")
            for warning in _run(instance, job, first_key, last_key):
                told(f"check failed: {warning}")


def _run(instance: "dg.DagsterInstance", job: str, first: str, last: str) -> list[str]:
    """Run a job over partitions in this process; returns the checks that failed."""
    from pipelines.definitions import defs
    from pipelines.partitions import one_run

    done = defs.resolve_job_def(job).execute_in_process(
        instance=instance,
        raise_on_error=False,
        partition_key=first if first == last else None,
        tags={} if first == last else one_run(first, last),
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )
    checks = [
        f"{check.check_name} of {check.asset_key.to_user_string()}: {check.description}"
        for check in done.get_asset_check_evaluations()
        if not check.passed
    ]
    if not done.success:
        failed = [_why(event) for event in done.all_events if event.is_step_failure]
        raise UserError(f"{job} failed: {'; '.join([*checks, *failed]) or 'see its run in the Dagster UI'}")
    return checks


def _why(event: "dg.DagsterEvent") -> str:
    """`mfu_hourly: what went wrong`, of a step that failed."""
    failure = event.step_failure_data
    if failure.user_failure_data is not None and failure.user_failure_data.description is not None:
        return f"{event.step_key}: {failure.user_failure_data.description}"
    error = failure.error
    told = (error.cause or error).message.strip() if error is not None else event.message or ""
    return f"{event.step_key}: {told}"


def main(argv: list[str] | None = None) -> int:
    """Exit status 2 with one line when something failed."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.materialize", description=__doc__)
    parser.add_argument("--days", type=int, default=1, help="how many days back from the end (default 1)")
    parser.add_argument("--end", type=datetime.fromisoformat, help="end, UTC, whole hour (default: the current hour)")
    args = parser.parse_args(argv)
    end = (args.end or datetime.now(UTC)).replace(tzinfo=UTC, minute=0, second=0, microsecond=0)
    try:
        materialize(end - args.days * DAY, end, lambda line: print(line, flush=True))
    except UserError as why:
        sys.stderr.write(f"{why}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
