"""The source `dcgm`: pages of dcgm-exporter, over HTTP or from files."""

import argparse
import asyncio
import socket
import ssl
import time
from contextlib import suppress
from pathlib import Path

from collectors.contract.kafka import kafka_settings
from collectors.dcgm.rota import STEP_S, Rota
from collectors.dcgm.sweep import Sweep
from collectors.dcgm.targets import Target, read_target, read_targets_file
from collectors.settings import this_node
from collectors.source import Outlet, SourceError
from collectors.sources import seconds

AT_ONCE = 256
"""Targets read at the same time by `--once`."""
Stamp = tuple[int, int, int] | None

REREAD_S = 5.0
"""Longest time between two looks at the list of targets."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Targets, and how to reach them."""
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="URL|HOST[:PORT]|FILE",
        help="a page of dcgm-exporter (port 9400 and /metrics unless said); may be given again",
    )
    parser.add_argument(
        "--targets",
        type=Path,
        metavar="FILE",
        help="targets in Prometheus file_sd form, JSON or YAML; read again when it changes",
    )
    parser.add_argument(
        "--timeout", type=seconds, default=10.0, metavar="SECONDS", help="longest wait for a page (default %(default)g)"
    )
    parser.add_argument("--ca", type=Path, metavar="FILE", help="certificates to trust for https targets")
    parser.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="sent with each request")


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read every target once. Raises `SourceError` where none could be read."""
    targets = _targets(args)
    if not targets:
        raise SourceError("no target: give --target URL or --targets FILE")
    messages = asyncio.run(_once(args, outlet, targets))
    if not messages:
        raise SourceError(f"none of {len(targets)} targets could be read")
    return messages


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read every target each interval, each at its own moment of it, and follow changes of the list."""
    targets = {target.name: target for target in _targets(args)}
    if not targets and args.targets is None:
        raise SourceError("no target: give --target URL or --targets FILE")
    tls, stamp = _tls(args), _stamp(args.targets)
    rota = Rota(args.interval, lambda target: _sweep(args, target, outlet, tls))
    looked_s = time.monotonic()
    rota.follow(targets, time.monotonic(), time.time())
    try:
        while True:
            rota.step(time.monotonic())
            await asyncio.sleep(STEP_S)
            if time.monotonic() - looked_s < min(REREAD_S, args.interval):
                continue
            looked_s = time.monotonic()
            fresh = _stamp(args.targets)
            if fresh == stamp:
                continue
            stamp = fresh
            try:
                targets = {target.name: target for target in _targets(args)}
            except SourceError as why:
                # The old list stays.
                outlet.reject("dcgm:targets", str(args.targets).encode(), str(why))
            rota.follow(targets, time.monotonic(), time.time())
    finally:
        rota.follow({}, time.monotonic(), time.time())


async def _once(args: argparse.Namespace, outlet: Outlet, targets: list[Target]) -> int:
    gate, tls = asyncio.Semaphore(AT_ONCE), _tls(args)

    async def read(target: Target) -> int:
        sweep = _sweep(args, target, outlet, tls)
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        async with gate:
            sweep.start(ended.set_result)
            while not ended.done():
                await asyncio.wait({ended}, timeout=STEP_S)
                sweep.check()
            sweep.close()
        return ended.result()

    return sum(await asyncio.gather(*map(read, targets)))


def _targets(args: argparse.Namespace) -> list[Target]:
    headers = tuple(args.header)
    for header in headers:
        if ":" not in header or "\n" in header:
            raise SourceError(f"--header {header}: write 'Name: value'")
    named = [read_target(text, None, headers) for text in args.target]
    listed = read_targets_file(args.targets, headers) if args.targets is not None else []
    return list({target.name: target for target in [*named, *listed]}.values())


def _sweep(args: argparse.Namespace, target: Target, outlet: Outlet, tls: ssl.SSLContext | None) -> Sweep:
    host = target.url.host if target.url is not None else this_node()
    instance = getattr(args, "instance", None)
    return Sweep(
        target,
        outlet,
        cluster=kafka_settings().cluster,
        collector=f"dcgm@{socket.gethostname()}" + (f":{instance}" if instance else ""),
        node=target.node or args.node or host,
        timeout_s=args.timeout,
        interval_s=None if getattr(args, "once", False) else args.interval,
        tls=tls,
    )


def _tls(args: argparse.Namespace) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=args.ca)
    except (OSError, ssl.SSLError) as why:
        raise SourceError(f"--ca {args.ca}: {why}") from why


def _stamp(path: Path | None) -> Stamp:
    """What changes when a file is written or replaced; None: there is none."""
    if path is not None:
        with suppress(OSError):
            found = path.stat()
            return found.st_mtime_ns, found.st_size, found.st_ino
    return None
