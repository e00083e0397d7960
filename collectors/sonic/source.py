"""`lockstep collect sonic`: a dump of a SONiC switch's COUNTERS_DB."""

import argparse
import re
import sys
from pathlib import Path

from collectors.source import Outlet, SourceError

_PORT_IN_NAME = re.compile(r"(?:^|_)(?P<port>[A-Za-z]+\d+)(?=_|$)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The dump, and what it does not say of itself."""
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="with --once: a dump as JSON, one port, its queues or the whole database; repeatable; - is stdin",
    )
    parser.add_argument("--device", default="switch", metavar="NAME", help="name of the switch (default %(default)s)")
    parser.add_argument(
        "--port",
        metavar="PORT",
        help="port of a dump that holds one port's fields (default: from the file's name, COUNTERS_Ethernet68.json)",
    )
    parser.add_argument("--lossless", metavar="P,P", help="priorities on which nothing may be dropped, such as 3,4")


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish one scrape a file, at the file's time. Returns the number. Raises `SourceError`."""
    if not args.file:
        raise SourceError("give --file FILE, a COUNTERS_DB dump as JSON")
    return sum(_read(path, args, outlet) for path in args.file)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """A dump is read once. Raises `SourceError`."""
    raise SourceError("a dump is read with --once; a live SONiC switch is read by `gnmi --preset sonic`")


def _read(path: Path, args: argparse.Namespace, outlet: Outlet) -> int:
    import msgspec

    from collectors.contract.kafka import kafka_settings
    from collectors.contract.topics import FABRIC_SCRAPES
    from collectors.fabric.grid import Grid
    from collectors.fabric.site import site_of
    from collectors.sonic.dump import DumpForm, read_dump

    raw, ts_us = _bytes(path)
    grid = Grid(site=site_of(args.lossless, ()), keep_ignored=True)
    found = _PORT_IN_NAME.search(path.stem)
    port = args.port or (found["port"] if found else None)
    try:
        for series, value in read_dump(msgspec.json.decode(raw), port):
            grid.put(grid.cell(series), value, (ts_us * 1000, grid.round))
    except msgspec.DecodeError as why:
        raise SourceError(f"{path}: not JSON: {why}") from why
    except DumpForm as why:
        raise SourceError(f"{path}: {why}") from why
    if len(grid) == 0:
        raise SourceError(f"{path}: no field in it")
    scrape = grid.cut(args.device, ts_us, cluster=kafka_settings().cluster, baseline=True)
    outlet.publish(FABRIC_SCRAPES, scrape)
    return 1


def _bytes(path: Path) -> tuple[bytes, int]:
    """The content and the time it was written, microseconds."""
    import time

    if str(path) == "-":
        return sys.stdin.buffer.read(), time.time_ns() // 1000
    try:
        return path.read_bytes(), path.stat().st_mtime_ns // 1000
    except OSError as why:
        raise SourceError(f"{path}: {why.strerror}") from why
