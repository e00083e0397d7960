"""The source `dcgm`: pages of dcgm-exporter, over HTTP or from files."""

import argparse
import asyncio
import time
from collections.abc import Iterable
from pathlib import Path

from collectors.dcgm import access as reaching
from collectors.dcgm.access import Access
from collectors.dcgm.roster import Roster, discoveries
from collectors.dcgm.rota import STEP_S, Rota
from collectors.dcgm.round import read_round
from collectors.dcgm.shared import Shared
from collectors.dcgm.sweep import Reporter, sweep_of
from collectors.dcgm.targets import PORT
from collectors.source import Outlet, Sight, SourceError
from collectors.sources import seconds

REREAD_S = 5.0
"""Longest time between two looks at the files of targets, logins and certificates."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Targets, how to find them, and how to reach them."""
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="URL|HOST[:PORT]|FILE",
        help=f"a page of dcgm-exporter (port {PORT} and /metrics unless said); may be given again",
    )
    parser.add_argument(
        "--targets",
        type=Path,
        metavar="FILE",
        help="targets in Prometheus file_sd form, JSON or YAML; read again when it changes",
    )
    parser.add_argument(
        "--kubernetes",
        action="append",
        default=[],
        metavar="NAMESPACE/SERVICE[:PORT]",
        help="endpoints of the exporter's service, asked of the API; may be given again",
    )
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="how to reach the API (default: as a pod does)")
    parser.add_argument(
        "--dns-srv",
        action="append",
        default=[],
        metavar="NAME",
        help="SRV records of exporters, such as _dcgm._tcp.example.org; may be given again",
    )
    parser.add_argument("--dns-server", metavar="ADDRESS[:PORT]", help="DNS server for --dns-srv, such as Consul's")
    parser.add_argument(
        "--slurm-nodes",
        action="append",
        default=[],
        metavar="HOSTLIST|sinfo[:PARTITION]",
        help="nodes as Slurm writes them, or those with GPUs that `sinfo` shows; may be given again",
    )
    parser.add_argument(
        "--find-every",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="time between two looks for targets (default %(default)g)",
    )
    parser.add_argument("--port", type=int, metavar="PORT", help=f"port of targets that are found (default {PORT})")
    parser.add_argument("--https", action="store_true", help="https where a target says no scheme")
    parser.add_argument(
        "--timeout", type=seconds, default=10.0, metavar="SECONDS", help="longest wait for a page (default %(default)g)"
    )
    reaching.add_arguments(parser)


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read every target once. Raises `SourceError` where none could be read."""
    return asyncio.run(_once(args, outlet))


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """As in `Source`: what each page shows, and which of the fields that detectors use it lacks."""
    from collectors.dcgm.sight import sights

    return asyncio.run(sights(args))


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read every target each interval, each at its own moment of it, and follow changes of the list."""
    shared = Shared(Access(args))
    roster = Roster(args, discoveries(args), Reporter(args, outlet))
    rota = Rota(args.interval, lambda target: sweep_of(args, target, outlet, shared))

    def follow() -> None:
        rota.follow(roster.targets(), time.monotonic(), time.time())

    follow()
    finding = asyncio.create_task(roster.follow(follow))
    looked_s = time.monotonic()
    try:
        while True:
            rota.step(time.monotonic())
            await asyncio.sleep(STEP_S)
            if finding.done():
                await finding
            if time.monotonic() - looked_s < min(REREAD_S, args.interval):
                continue
            looked_s = time.monotonic()
            _refresh(shared.access, args, outlet)
            if roster.look():
                follow()
    finally:
        finding.cancel()
        rota.follow({}, time.monotonic(), time.time())


async def _once(args: argparse.Namespace, outlet: Outlet) -> int:
    shared = Shared(Access(args))
    roster = Roster(args, discoveries(args), Reporter(args, outlet))
    await roster.ask_all()
    targets = roster.targets().values()
    messages = await read_round(targets, lambda target: sweep_of(args, target, outlet, shared))
    if not messages:
        raise SourceError(f"none of {len(targets)} targets could be read" if targets else "no target was found")
    return messages


def _refresh(access: Access, args: argparse.Namespace, outlet: Outlet) -> None:
    """A login or certificate that was replaced by something else is said; the old one stays."""
    began_s = time.perf_counter()
    try:
        access.refresh()
    except SourceError as why:
        Reporter(args, outlet)("login and certificates", time.perf_counter() - began_s, str(why))
