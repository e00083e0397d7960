"""All switches of one process: their streams, and the clock that judges them."""

import argparse
import asyncio
import contextlib
import socket

from collectors.contract.kafka import kafka_settings
from collectors.gnmi.patience import CONNECT_TIMEOUT_S
from collectors.gnmi.stream import NEXT_MODE, Reporting, Stream
from collectors.gnmi.target import targets
from collectors.source import Outlet, SourceError


def reporting(args: argparse.Namespace, outlet: Outlet, *, keep_ignored: bool) -> Reporting:
    """What the options say of the process."""
    host = args.node or socket.gethostname()
    instance = f":{args.instance}" if getattr(args, "instance", None) else ""
    return Reporting(
        outlet=outlet,
        collector=f"gnmi@{host}{instance}",
        cluster=kafka_settings().cluster,
        interval_s=args.interval,
        keep_ignored=keep_ignored,
    )


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read every switch until cancelled. Raises `SourceError` for options that cannot be used."""
    shared = reporting(args, outlet, keep_ignored=args.keep_ignored)
    await run([Stream(target, shared) for target in targets(args)], shared.interval_s)


async def run(streams: list[Stream], interval_s: float) -> None:
    """Until cancelled; then every connection is closed."""
    async with asyncio.TaskGroup() as group:
        for stream in streams:
            group.create_task(stream.run(), name=f"gnmi {stream.target.name}")
        group.create_task(tick(streams, interval_s))


async def tick(streams: list[Stream], interval_s: float) -> None:
    """Ten to twenty times an interval, for all streams together.

    Time in which this process itself was held up is no silence of a switch.
    """
    clock = asyncio.get_running_loop().time
    period = min(0.5, max(0.02, interval_s / 20))
    while True:
        begun = clock()
        await asyncio.sleep(period)
        held_up = clock() - begun - period
        for stream in streams:
            stream.tick(held_up if held_up > period else 0.0)


async def snapshot(args: argparse.Namespace, outlet: Outlet) -> int:
    """The first scrape of every switch. Returns how many answered; a switch that did not is told by a beat."""
    shared = reporting(args, outlet, keep_ignored=True)
    streams = [Stream(target, shared, mode="ONCE") for target in targets(args)]
    clock = asyncio.create_task(tick(streams, min(args.interval, 1.0)))
    try:
        answered = await asyncio.gather(*(first(stream) for stream in streams))
    finally:
        clock.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await clock
    if not any(answered):
        raise SourceError("no switch answered")
    return sum(answered)


async def first(stream: Stream) -> bool:
    """Until its first scrape; in another mode where the switch refuses one."""
    for _ in NEXT_MODE:
        mode = stream.mode
        reading = asyncio.create_task(stream.attempt())
        first = asyncio.create_task(stream.first.wait())
        await asyncio.wait({reading, first}, timeout=CONNECT_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, first):
            task.cancel()
        await asyncio.gather(reading, first, return_exceptions=True)
        if stream.first.is_set() or stream.mode == mode:
            break
    return stream.first.is_set()
