"""All redis targets of one process: a sweep each interval, each by itself."""

import argparse
import asyncio

from collectors.contract.kafka import kafka_settings
from collectors.fabric.site import site_of
from collectors.settings import this_node
from collectors.sonic.box import Box, Reporting
from collectors.sonic.settings import sonic_settings
from collectors.sonic.target import RedisTarget, read_redis
from collectors.source import Outlet, SourceError

LONGEST_WAIT_S = 10.0


def targets(args: argparse.Namespace) -> list[RedisTarget]:
    """Raises `SourceError`."""
    found = [read_redis(text) for text in args.redis]
    if len(found) == 1 and found[0].name is None and args.device:
        return [RedisTarget(found[0].address, args.device)]
    names = [target.name or str(target.address) for target in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SourceError(f"two targets are called {twice[0]!r}; write --redis NAME=HOST:PORT")
    return found


def reporting(args: argparse.Namespace, outlet: Outlet, *, keep_ignored: bool) -> Reporting:
    """What the options say of the process."""
    instance = f":{args.instance}" if getattr(args, "instance", None) else ""
    return Reporting(
        outlet=outlet,
        collector=f"sonic@{this_node(args.node)}{instance}",
        cluster=kafka_settings().cluster,
        interval_s=args.interval,
        site=site_of(args.lossless, ()),
        keep_ignored=keep_ignored,
        login=sonic_settings().login,
    )


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Until cancelled. Raises `SourceError` for options that cannot be used."""
    shared = reporting(args, outlet, keep_ignored=args.keep_ignored)
    timeout_s = min(LONGEST_WAIT_S, max(1.0, args.interval))
    boxes = [Box(target, shared, timeout_s=timeout_s) for target in targets(args)]
    try:
        async with asyncio.TaskGroup() as group:
            for box in boxes:
                group.create_task(follow(box, args.interval), name=f"sonic {box.target.address}")
    finally:
        for box in boxes:
            await box.close()


async def follow(box: Box, interval_s: float) -> None:
    """A sweep each interval; those that could not be begun in time are skipped."""
    clock = asyncio.get_running_loop().time
    due = clock()
    while True:
        await box.sweep()
        due += interval_s * max(1, 1 + int((clock() - due) / interval_s))
        await asyncio.sleep(max(0.0, due - clock()))


async def snapshot(args: argparse.Namespace, outlet: Outlet) -> int:
    """One scrape of every switch. Raises `SourceError` where none could be read."""
    shared = reporting(args, outlet, keep_ignored=True)
    boxes = [Box(target, shared, timeout_s=LONGEST_WAIT_S) for target in targets(args)]
    messages = await asyncio.gather(*(box.sweep() for box in boxes))
    for box in boxes:
        await box.close()
    if not any(messages):
        raise SourceError("no redis could be read")
    return sum(messages)
