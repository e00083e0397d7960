"""A log that comes through a pipe."""

import asyncio
import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Iterable

from collectors.training_log.intake import Intake

FLUSH_S = 1.0
WAITING = 1000
"""Lines that may wait to be read; then the writer waits, as it would for a terminal."""


async def follow_pipe(lines: Iterable[bytes], intake: Intake, interval_s: float) -> None:
    """Until the pipe ends. A thread reads, which a line that never comes cannot keep from ending with the process."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)

    def pump() -> None:
        with contextlib.suppress(RuntimeError, concurrent.futures.CancelledError):  # the loop has gone
            for raw in lines:
                asyncio.run_coroutine_threadsafe(queue.put(raw), loop).result()
            asyncio.run_coroutine_threadsafe(queue.put(None), loop).result()

    threading.Thread(target=pump, name="training-log-pipe", daemon=True).start()
    began_s, ended = time.monotonic(), False
    try:
        while not ended:
            for raw in await _some(queue):
                if raw is None:
                    ended = True
                else:
                    intake.bytes += len(raw)
                    intake.line(raw, time.time_ns() // 1000)
            intake.rest(None if ended else time.time_ns() // 1000)
            intake.flush()
            if time.monotonic() - began_s >= interval_s:
                intake.beat(began_s, interval_s, None)
                began_s = time.monotonic()
    finally:
        intake.flush()
        intake.beat(began_s, interval_s, None)


async def _some(queue: asyncio.Queue[bytes | None]) -> list[bytes | None]:
    """What is there within a second."""
    try:
        found = [await asyncio.wait_for(queue.get(), FLUSH_S)]
    except TimeoutError:
        return []
    while not queue.empty():
        found.append(queue.get_nowait())
    return found
