"""The process side of the receiver: its sockets, its clock, its end."""

import argparse
import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack

from aiohttp import web

from collectors.contract.kafka import kafka_settings
from collectors.defect import defect
from collectors.otlp.grpc_server import grpc_server
from collectors.remote_write.access import gate, read_address, server_tls
from collectors.remote_write.intake import SOURCE, Intake
from collectors.remote_write.server import Server
from collectors.remote_write.source import PORT
from collectors.source import Outlet, SourceError

GRPC_PORT = 4317
TICK_S = 0.5
LINGER_S = 1.0
"""What goes on being sent after a refusal is thrown away for so long, so that the sender can read the refusal."""

log = logging.getLogger("lockstep.collect")


def intake_of(args: argparse.Namespace, outlet: Outlet, interval_s: float | None) -> Intake:
    """What the options say of it."""
    instance = f":{args.instance}" if getattr(args, "instance", None) else ""
    return Intake(
        outlet,
        cluster=kafka_settings().cluster,
        collector=f"{SOURCE}@{socket.gethostname()}{instance}",
        listen=args.listen,
        interval_s=interval_s,
        cluster_label=args.cluster_label,
    )


Bound = Callable[[int, int | None], None]
"""Called once everything listens, with the ports of HTTP and of gRPC."""


async def listen(args: argparse.Namespace, outlet: Outlet, bound: Bound = lambda *_: None) -> None:
    """Until cancelled; what waits for its rest then is published as it is. Raises `SourceError`."""
    intake = intake_of(args, outlet, args.interval)
    async with AsyncExitStack() as stack:
        # Last of all, when no request comes any more.
        stack.push_async_callback(intake.receiver.flush)
        http_port, grpc_port = await _http(args, intake, stack), None
        if args.otlp_grpc is not None:
            host, port = read_address("--otlp-grpc", args.otlp_grpc, GRPC_PORT)
            grpc_port, stop = await grpc_server(args, intake, host, port)
            stack.push_async_callback(stop)
        bound(http_port, grpc_port)
        await _tick(intake, args.interval)


async def _http(args: argparse.Namespace, intake: Intake, stack: AsyncExitStack) -> int:
    host, port = read_address("--listen", args.listen, PORT)
    # Bodies are unpacked here, within limits; aiohttp would do it without.
    runner = web.AppRunner(
        Server(intake, gate(args)).app(),
        access_log=None,
        auto_decompress=False,
        shutdown_timeout=2.0,
        lingering_time=LINGER_S,
    )
    tls = server_tls(args)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    try:
        await web.TCPSite(runner, host, port, ssl_context=tls).start()
    except OSError as why:
        raise SourceError(f"--listen {args.listen}: {why.strerror}; choose another address") from why
    address, port = runner.addresses[0][:2]
    log.info("%s: listening on %s:%d", SOURCE, address, port)
    return int(port)


async def _tick(intake: Intake, interval_s: float) -> None:
    clock = asyncio.get_running_loop().time
    due_s = clock() + interval_s
    while True:
        await asyncio.sleep(min(TICK_S, interval_s))
        try:
            await intake.receiver.tick()
        except Exception as why:  # noqa: BLE001 (the listener goes on)
            intake.fail("own clock", defect(SOURCE, why))
        if clock() >= due_s:
            due_s = max(due_s + interval_s, clock())
            intake.beat()
