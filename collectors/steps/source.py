"""`lockstep collect steps`: training steps and job events, from the training client."""

import argparse
import asyncio
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from collectors.source import Outlet, Sight, SourceError
from collectors.steps.client import SOCKET

FLUSH_S = 2.0
BEAT_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--socket", type=Path, default=Path(SOCKET), metavar="PATH", help="Unix socket to listen on (%(default)s)"
    )
    parser.add_argument(
        "--socket-mode",
        type=lambda text: int(text, 8),
        default=0o666,
        metavar="OCTAL",
        help="who may send to it (default 666: every user of the node, as jobs run under many)",
    )
    parser.add_argument(
        "--interval",
        type=float,
        default=FLUSH_S,
        metavar="SECONDS",
        help="time over which the steps of a node go into one message (default %(default)g)",
    )
    parser.add_argument("--file", metavar="F", help="with --once: a file of envelopes, `-` for standard input")


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish the step reports and job events of a file of envelopes."""
    from collectors.steps.envelopes import publish_file

    if args.file is None:
        raise SourceError(
            "steps: --once reads a file of envelopes, so give --file F; without --once the socket is served"
        )
    return publish_file(args.file, outlet)


def check(args: argparse.Namespace) -> Iterator[Sight]:
    """Whether the ranks of this node would be heard; of a file, what can be read."""
    from collectors.steps.sight import look, look_at_file

    yield from look(args.socket) if args.file is None else look_at_file(args.file)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Listen until cancelled. Raises `SourceError` where the socket cannot be had."""
    from collectors.contract.kafka import kafka_settings
    from collectors.settings import this_node
    from collectors.steps.intake import Intake
    from collectors.steps.listener import Listener

    if args.file is not None:
        raise SourceError("steps: --file is read with --once")
    loop, enough = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has gone
            loop.call_soon_threadsafe(enough.set)

    node = this_node(args.node)
    listener = Listener(args.socket, args.socket_mode, node, wake)
    cluster, instance = kafka_settings().cluster, getattr(args, "instance", None)
    intake = Intake(cluster, node, str(args.socket), outlet, lambda: time.time_ns() // 1000, instance)
    next_beat_s = time.monotonic() + BEAT_S
    try:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(enough.wait(), args.interval)
            enough.clear()
            intake.take(*listener.take())
            if time.monotonic() >= next_beat_s:
                next_beat_s = time.monotonic() + BEAT_S
                intake.beat(BEAT_S)
    finally:
        listener.close()
        intake.take(*listener.take())
        intake.beat(BEAT_S)
