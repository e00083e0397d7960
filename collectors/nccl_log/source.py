"""`lockstep collect nccl-log`: which process and GPU is which rank of which communicator, from NCCL's log."""

import argparse
import asyncio
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.source import Outlet, Sight, SourceError

if TYPE_CHECKING:
    from collectors.nccl_log.reading import Reading


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        type=Path,
        metavar="F",
        help="a log with NCCL_DEBUG=INFO, of one rank or of many; may be given again",
    )
    parser.add_argument("--dir", type=Path, metavar="D", help="a folder of such logs (NCCL_DEBUG_FILE=D/%%h.%%p)")
    parser.add_argument("--job", metavar="J", help="the job's id")
    parser.add_argument("--follow", action="store_true", help="read on as they grow (default: read them and end)")


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read what the files hold; the number of messages. Raises `SourceError` where one cannot be read."""
    reading = _reading(args, outlet)
    for name in args.file:
        if not name.is_file():
            raise SourceError(f"--file {name}: no such file")
    for _ in reading.read(to_end=True):
        pass
    return reading.tell(reading.written_us() or time.time_ns() // 1000, settled=True)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Tell ranks as they join, until cancelled; without `--follow` those that have, then end.

    After a restart the logs are read again from their start: who is who is told again, and nothing else.
    """
    from collectors.defect import defect

    reading = _reading(args, outlet)
    while True:
        began_s, trouble, told = time.monotonic(), None, 0
        try:
            pieces = reading.read(to_end=not args.follow)
            while await asyncio.to_thread(next, pieces, None) is not None:
                pass
        except SourceError as why:
            trouble = str(why)
        except Exception as why:  # noqa: BLE001 (what comes after the lines at fault is read)
            trouble = defect(f"nccl-log:{args.job}", why)
        try:
            ts_us = time.time_ns() // 1000 if args.follow else reading.written_us() or time.time_ns() // 1000
            told = reading.tell(ts_us, settled=not args.follow)
        except Exception as why:  # noqa: BLE001 (as above)
            trouble = defect(f"nccl-log:{args.job}", why)
        reading.beat(began_s, told, args.interval, trouble)
        if not args.follow:
            return
        await asyncio.sleep(max(0.0, args.interval - (time.monotonic() - began_s)))


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """How many ranks and communicators the files name."""
    from collectors.outlet import StdoutOutlet

    where = str(args.dir or ", ".join(map(str, args.file)))
    try:
        reading = _reading(args, StdoutOutlet(lambda line: None, lambda text: None))
        for _ in reading.read(to_end=True):
            pass
    except SourceError as why:
        yield Sight(target=where, ok=False, sees="nothing", advice=str(why))
        return
    comms, lacks = len(reading.membership.sizes()), reading.membership.lacks()
    yield Sight(
        target=where,
        ok=not lacks,
        sees=f"{reading.lines} ranks that joined, {comms} communicators by name",
        lacks=lacks,
        advice=_advice(comms) if lacks else "",
    )


def _advice(comms: int) -> str:
    if not comms:
        return "set NCCL_DEBUG=INFO (and NCCL_DEBUG_FILE=D/%h.%p for files of their own) in the job"
    return "give the logs of all nodes, or the one to which all ranks write: the job is not placed from a part"


def _reading(args: argparse.Namespace, outlet: Outlet) -> "Reading":
    from collectors.contract.kafka import kafka_settings
    from collectors.nccl_log.reading import Reading

    if not args.file and args.dir is None:
        raise SourceError("give --file F or --dir D: logs of a job with NCCL_DEBUG=INFO")
    if not args.job:
        raise SourceError("NCCL's log does not name the job; give --job")
    instance = getattr(args, "instance", None)
    return Reading(args.file, args.dir, args.job, kafka_settings().cluster, outlet, instance)
