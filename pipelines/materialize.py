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

    `told` hears each stage. Raises `UserError` naming what failed.
    """
    import dagster as dg

    dagster_home()
    first, last = start.astimezone(UTC), end.astimezone(UTC) - HOUR
    with dg.DagsterInstance.get() as instance:
        told(f"hours {first:%d %b %H:%M} to {last:%d %b %H:%M}")
        _run(instance, "hourly_rollups", f"{first:%Y-%m-%d-%H:%M}", f"{last:%Y-%m-%d-%H:%M}")
        told(f"days {first:%d %b} to {last:%d %b}")
        _run(instance, "daily_rollups", f"{first:%Y-%m-%d}", f"{last:%Y-%m-%d}")
        for back in reversed(range(reports)):
            day = last - back * DAY
            if day.date() >= first.date():
                told(f"report of {day:%d %b}")
                _run(instance, "daily_report_file", f"{day:%Y-%m-%d}", f"{day:%Y-%m-%d}")


def _run(instance: "dg.DagsterInstance", job: str, first: str, last: str) -> None:
    from pipelines.definitions import defs

    ranged = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
    _must(
        defs.resolve_job_def(job).execute_in_process(
            instance=instance,
            raise_on_error=False,
            partition_key=first if first == last else None,
            tags={} if first == last else ranged,
        )
    )


def _must(done: "dg.ExecuteInProcessResult") -> None:
    if not done.success:
        failed = [event for event in done.all_events if event.is_failure]
        raise UserError(f"rollup failed: {failed[0].message if failed else 'see the Dagster UI'}")


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
