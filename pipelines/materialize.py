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


def materialize(start: datetime, end: datetime, told: Callable[[str], None] = lambda line: None) -> None:
    """Build every hour of [start, end) in one run, then each of its days with its report; `told` hears each stage.

    Raises `UserError` naming what failed.
    """
    import dagster as dg

    from pipelines.definitions import defs

    dagster_home()
    with dg.DagsterInstance.get() as instance:
        last = end.astimezone(UTC) - HOUR
        first_key, last_key = (f"{moment.astimezone(UTC):%Y-%m-%d-%H:%M}" for moment in (start, last))
        told(f"hours {first_key} to {last_key} UTC")
        hours = defs.resolve_job_def("hourly_rollups").execute_in_process(
            instance=instance,
            raise_on_error=False,
            tags={"dagster/asset_partition_range_start": first_key, "dagster/asset_partition_range_end": last_key},
        )
        _must(hours)
        day = start.astimezone(UTC).date()
        while day <= last.date():
            told(f"day {day} and its report")
            _must(
                defs.resolve_job_def("daily_rollups").execute_in_process(
                    instance=instance, raise_on_error=False, partition_key=day.isoformat()
                )
            )
            day += DAY


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
