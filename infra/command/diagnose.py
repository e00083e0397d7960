"""`lockstep diagnose`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from streams.detectors_command import add_config

if TYPE_CHECKING:
    from infra.diagnose.sources import Pair

HOUR_US = 3_600_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which job, where from, and the form of the output."""
    parser.add_argument("job", metavar="JOB", help="its name, as in the placement and the step reports")
    parser.add_argument("--cluster", metavar="NAME", help="default: LOCKSTEP_CLUSTER")
    parser.add_argument("--last", type=_hours, default=1.0, metavar="HOURS", help="how far to look back (default 1)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--at", metavar="T", help="look back from then, in the warehouse (2026-11-30T08:00, UTC)")
    where.add_argument("--files", nargs="+", metavar="FILE", help="files of envelopes instead of Kafka")
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also write the report as a picture")


def run(args: argparse.Namespace) -> int:
    """Print the answers, the picture and the verdict."""
    import sys

    from collectors.contract.kafka import kafka_settings
    from infra.diagnose.judged import judge
    from infra.diagnose.verdict import diagnose
    from infra.diagnose.view import as_json, picture, show, text
    from streams.detectors_command import chosen
    from streams.pipeline import Pipeline

    cluster = args.cluster or kafka_settings().cluster
    choices = chosen(args.config)
    pairs = _messages(args, cluster)
    if args.files and args.cluster is None:
        cluster = next(m.cluster for _, m in pairs if getattr(m, "job", None) == args.job)
    judged = judge(pairs, cluster, args.job, Pipeline(choices=choices))
    judged.day_before = None if args.files else _day_before(cluster, args.job, pairs[0][1].ts_us)
    report = diagnose(judged)
    if args.svg is not None:
        picture(report, args.svg)
    if args.json:
        print(as_json(report))
    elif sys.stdout.isatty():
        show(report)
    else:
        sys.stdout.write(text(report))
    return 0


def _messages(args: argparse.Namespace, cluster: str) -> "list[Pair]":
    import sys
    import time

    from collectors.contract.kafka import kafka_client
    from infra.diagnose.sources import from_files, from_kafka, from_warehouse
    from infra.times import moment_us

    span_us = round(args.last * HOUR_US)
    if args.files:
        return from_files(args.files, args.job)
    if args.at:
        from warehouse import connect

        end_us = moment_us("--at", args.at)
        with connect() as connection:
            return from_warehouse(connection, cluster, args.job, end_us - span_us, end_us)

    def progress(count: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{count} messages read")
            sys.stderr.flush()

    try:
        return from_kafka(kafka_client(), cluster, args.job, time.time_ns() // 1000 - span_us, progress)
    finally:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def _day_before(cluster: str, job: str, end_us: int) -> tuple[float, int] | None:
    """From the warehouse, where there is one."""
    from warehouse import connect
    from warehouse.opening import WarehouseError
    from warehouse.past.pace import pace

    try:
        with connect() as connection:
            return pace(connection, cluster, job, end_us)
    except WarehouseError:
        return None


def _hours(text: str) -> float:
    hours = float(text)
    if not 0 < hours <= 24 * 31:
        raise argparse.ArgumentTypeError("write hours, up to a month of them")
    return hours
