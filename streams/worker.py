"""One worker process: logging, signals, start and orderly end."""

import asyncio
import logging
import os
import signal
import sys
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from collectors.contract.errors import UserError
from collectors.contract.kafka import kafka_client, kafka_settings
from streams.app import Parts, wire
from streams.client import Clients
from streams.faust_app import faust_app
from streams.security import security
from streams.settings import stream_settings
from streams.sparing import Sparing
from streams.watchdog import Watchdog

log = logging.getLogger("lockstep.stream")

STUCK = 75
"""Exit status (EX_TEMPFAIL) of a worker whose recovery stood still: start it again."""
END_S = 15.0


def run_worker(worker: int, verbose: bool) -> int:
    """Run until told to stop. Raises `UserError` for what the user can mend."""
    _logging(verbose)
    return asyncio.run(_run(worker))


async def _run(worker: int) -> int:
    settings, kafka = stream_settings(), kafka_client()
    state = Path(kafka_settings().state)
    clients = Clients(kafka, security(kafka.properties))
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        app = faust_app(kafka, settings, state, worker)
        wired = asyncio.ensure_future(wire(app, clients, settings, state, worker, stack))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({wired, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not wired.done():
            wired.cancel()
            return 0
        parts = await wired
        port = parts.metrics.serve(settings.metrics_port)
        log.info(
            "worker %d joins group %s at %s, metrics at http://127.0.0.1:%d/metrics",
            worker,
            settings.group,
            kafka.bootstrap,
            port,
        )
        log.info("worker %d tells %s", worker, ", ".join(r.name for r in parts.pager.receivers))
        return await _serve(parts, stopping)


async def _serve(parts: Parts, stopping: "asyncio.Task[Any]") -> int:
    app, began = parts.app, time.monotonic()
    dog = Watchdog()
    tasks: list[asyncio.Task[Any]] = [
        asyncio.create_task(parts.reader.run(), name="world"),
        asyncio.create_task(parts.heart(), name="heart"),
        asyncio.create_task(parts.pager.run(), name="pager"),
        asyncio.create_task(dog.watch(parts), name="watchdog"),
    ]

    async def live() -> None:
        await app.start()
        await app.wait_for_stopped(asyncio.Event().wait())

    living = asyncio.create_task(live(), name="Faust")
    try:
        done, _ = await asyncio.wait({stopping, living, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        if stopping in done:
            return 0
        if dog.stuck:
            log.critical("worker %d ends: its recovery stood still; start it again", parts.worker)
            return STUCK
        for task in done:
            why = "cancelled" if task.cancelled() else task.exception() or app.crash_reason
            log.critical("worker %d ends, its %s ended: %r", parts.worker, task.get_name(), why)
        return 1
    finally:
        # Faust's own stop has hung before; a worker that was told to end has to end.
        asyncio.get_running_loop().call_later(2 * END_S, os._exit, 1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if stopping.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(parts.judge.keep_all(), 5.0)
        living.cancel()
        with suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(app.stop(), END_S)
        log.info("worker %d ended after %.0f s", parts.worker, time.monotonic() - began)


def _logging(verbose: bool) -> None:
    """One line when ready, warnings and errors; Faust's own tables of partitions only when asked for."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
    for handler in logging.getLogger().handlers:
        handler.addFilter(Sparing())
    logging.getLogger("lockstep").setLevel(logging.INFO)


def main() -> int:
    """A worker process of `lockstep stream --workers N`."""
    try:
        return run_worker(int(sys.argv[1]), "--verbose" in sys.argv[2:])
    except UserError as why:
        sys.stderr.write(f"lockstep stream: {why}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
