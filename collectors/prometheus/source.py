"""`lockstep collect prometheus`: last month's scrapes of a Prometheus, VictoriaMetrics or Thanos."""

import argparse
from collections.abc import Iterable

from collectors.source import Outlet, Sight


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where, what and how."""
    from collectors.dcgm.access import add_arguments as add_access
    from collectors.sources import seconds

    parser.add_argument("--url", required=True, metavar="URL", help="the server, up to what stands before /api/v1")
    parser.add_argument(
        "--from",
        dest="from_",
        required=True,
        metavar="T",
        help="where to begin: 2026-10-01, 2026-10-01T12:00Z (UTC without a zone), 30d (ago) or Unix seconds",
    )
    parser.add_argument("--to", default="now", metavar="T", help="where to end, the same (default now)")
    parser.add_argument(
        "--match",
        action="append",
        default=[],
        metavar="MATCHERS",
        help="only series with these labels, such as '{cluster=\"prod\"}'; repeatable: any of them",
    )
    parser.add_argument(
        "--step", type=seconds, metavar="SECONDS", help="distance of two scrapes (default: as the server has them)"
    )
    parser.add_argument(
        "--partial", action="store_true", help="take answers of which the server says that they lack something"
    )
    parser.add_argument("--restart", action="store_true", help="begin anew where the same import was interrupted")
    parser.add_argument("--timeout", type=seconds, default=120.0, metavar="SECONDS", help="for one query (default 120)")
    parser.add_argument(
        "--cluster-label",
        metavar="LABEL",
        help="label that names the GPU cluster of a series (default: all are of LOCKSTEP_CLUSTER)",
    )
    add_access(parser)


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Import to standard output, from the start. Raises `SourceError`."""
    import asyncio

    from collectors.prometheus.job import run

    return asyncio.run(run(args, outlet, keep=False))


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Import into Kafka, from where it was interrupted, and end. Raises `SourceError`."""
    from collectors.prometheus.job import run

    await run(args, outlet, keep=True)


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What the server has between --from and --to."""
    import asyncio

    from collectors.prometheus.sight import sights

    return asyncio.run(sights(args))
