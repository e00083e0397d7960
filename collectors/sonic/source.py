"""`lockstep collect sonic`: a SONiC switch's COUNTERS_DB, live over its redis, or dumped as JSON."""

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

from collectors.source import Outlet, Sight, SourceError
from collectors.whole_file import read_whole

MOST_BYTES = 256 << 20
_PORT_IN_NAME = re.compile(r"(?:^|_)(?P<port>[A-Za-z]+\d+)(?=_|$)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The redis, or the dump and what it does not say of itself."""
    parser.add_argument(
        "--redis",
        action="append",
        default=[],
        metavar="[NAME=]HOST:PORT|unix:PATH",
        help="a switch's redis, on the switch unix:/var/run/redis/redis.sock; NAME is what its messages call it "
        "(default: its own host name); repeatable",
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="with --once: a dump as JSON, one port, its queues or the whole database; repeatable; - is stdin",
    )
    parser.add_argument("--device", metavar="NAME", help="name of the switch, where only one is read")
    parser.add_argument(
        "--port",
        metavar="PORT",
        help="port of a dump that holds one port's fields (default: from the file's name, COUNTERS_Ethernet68.json)",
    )
    parser.add_argument("--lossless", metavar="P,P", help="priorities on which nothing may be dropped, such as 3,4")
    parser.add_argument(
        "--keep-ignored", action="store_true", help="keep under `named` also what the counter table says to ignore"
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish one scrape of every redis, and one a file at the file's time; their number. Raises `SourceError`."""
    if not args.file and not args.redis:
        raise SourceError("give --redis HOST:PORT, or --file FILE, a COUNTERS_DB dump as JSON")
    read = sum(_read(path, args, outlet) for path in args.file)
    if args.redis:
        import asyncio

        from collectors.sonic.live import snapshot

        read += asyncio.run(snapshot(args, outlet))
    return read


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What each redis shows, and which of its counters are off."""
    import asyncio

    from collectors.sonic.check import look_at
    from collectors.sonic.live import targets
    from collectors.sonic.settings import sonic_settings

    return asyncio.run(look_at(targets(args), sonic_settings().login))


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read every redis each interval. Raises `SourceError`."""
    if not args.redis:
        raise SourceError("give --redis HOST:PORT; a dump is read with --once, a switch from outside by `gnmi`")
    from collectors.sonic.live import serve as serve_targets

    await serve_targets(args, outlet)


def _read(path: Path, args: argparse.Namespace, outlet: Outlet) -> int:
    import msgspec

    from collectors.contract.kafka import kafka_settings
    from collectors.contract.topics import FABRIC_SCRAPES
    from collectors.fabric.grid import Grid
    from collectors.fabric.site import site_of
    from collectors.sonic.dump import DumpForm, read_dump

    raw, ts_us = read_whole(path, MOST_BYTES)
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
    scrape = grid.cut(args.device or "switch", ts_us, cluster=kafka_settings().cluster, baseline=True)
    outlet.publish(FABRIC_SCRAPES, scrape)
    return 1
