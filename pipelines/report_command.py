"""`lockstep report`."""

import argparse
from datetime import UTC, date, datetime, timedelta
from pathlib import Path


def _day(text: str) -> date:
    if text in ("today", "yesterday"):
        today = datetime.now(UTC).date()
        return today if text == "today" else today - timedelta(days=1)
    try:
        return date.fromisoformat(text)
    except ValueError as why:
        raise argparse.ArgumentTypeError(f"{text!r} is no day: write YYYY-MM-DD, today or yesterday") from why


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which day, and where to."""
    parser.add_argument(
        "--day", type=_day, default="yesterday", help="UTC day: YYYY-MM-DD, today or yesterday (default %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="file to write (default: DAY.html in the reports folder)"
    )
    parser.add_argument(
        "--no-rollup", action="store_true", help="take the rollups as they stand, do not rebuild the day's"
    )


def run(args: argparse.Namespace) -> int:
    """Rebuild the day's rollups unless told not to, write the report, print its path."""
    from pipelines.report import write_report
    from pipelines.rollup import rebuild_day

    if not args.no_rollup:
        rebuild_day(args.day)
    print(write_report(args.day, args.out))
    return 0
