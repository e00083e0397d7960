"""The log as it grows, and where the next start goes on."""

import asyncio
import concurrent.futures
import contextlib
import hashlib
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from collectors.contract.kafka import kafka_settings
from collectors.cursor import CursorFile, T
from collectors.kernel.intake import Intake
from collectors.kernel.kmsg import KmsgPosition, KmsgReader, steady_boot_us
from collectors.kernel.readers import JOURNAL, Kmsg
from collectors.settings import collector_settings
from collectors.source import SourceError
from collectors.tail import NumberedLine, Position, Tail

POLL_S = 0.25
"""A regular file gives no sign when it grows."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def cursor(name: str, kind: type[T]) -> CursorFile[T]:
    """The cursor of one log on this host."""
    path = Path(kafka_settings().state) / "cursors" / f"kernel-{socket.gethostname()}-{name}.json"
    return CursorFile(path, kind, collector_settings().spool_after_s + 1)


async def serve_file(path: Path, intake: Intake, interval_s: float) -> None:
    """Follow one file, from where the last run stopped; a file that is not there yet is waited for."""
    kept = cursor(hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16], Position)
    if path.exists() and not path.is_file():
        raise SourceError(f"{path}: not a regular file, so it cannot be followed; pipe it to `--file -`")
    tail = Tail(path, kept.load())
    unread: str | None = None
    async with beating(intake, interval_s, lambda: unread if path.exists() else f"no file {path}"):
        try:
            while True:
                lines: list[NumberedLine] = []
                try:
                    lines, unread = await asyncio.to_thread(tail.read), None
                except OSError as why:
                    unread = f"{path}: {why.strerror}"
                intake.bytes = tail.bytes
                for line in lines:
                    intake.line(line.raw, line.number)
                if lines:
                    kept.stage(tail.position)
                else:
                    kept.settle()
                    await asyncio.sleep(POLL_S)
        finally:
            kept.close()


async def serve_kmsg(path: Path, intake: Intake, boot_us: Callable[[], int], interval_s: float) -> None:
    """Follow the ring buffer, from the last record of this boot that was read."""
    boot_id = BOOT_ID.read_text().strip()
    kept = cursor("kmsg", KmsgPosition)
    last = kept.load()
    if last is not None and last.boot_id != boot_id:
        last = None
    booted_us = None if last is None else last.boot_us
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    with Kmsg(path) as device:
        reader = KmsgReader(device.read, None if last is None else last.sequence)
        loop.add_reader(device.fd, ready.set)
        try:
            async with beating(intake, interval_s):
                while True:
                    ready.clear()
                    booted_us, found = steady_boot_us(booted_us, boot_us()), 0
                    for record in reader.available():
                        intake.record(record, booted_us)
                        found += 1
                    if found and reader.last is not None:
                        kept.stage(KmsgPosition(boot_id, reader.last, booted_us))
                        await asyncio.sleep(0)
                    else:
                        with contextlib.suppress(TimeoutError):
                            await asyncio.wait_for(ready.wait(), interval_s)
                        kept.settle()
        finally:
            loop.remove_reader(device.fd)
            kept.close()


async def serve_journal(intake: Intake, interval_s: float) -> None:
    """Follow `journalctl --dmesg --follow`, from the time of the last event. Raises `SourceError` when it ends."""
    kept = cursor("journal", int)
    since_us = kept.load()
    options = ["--lines=all"] if since_us is None else [f"--since=@{since_us // 1_000_000}"]
    intake.skip_until_us = since_us
    process = await asyncio.create_subprocess_exec(
        *JOURNAL, "--follow", *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        async with beating(intake, interval_s):
            while raw := await _line(process.stdout):
                before = intake.events
                intake.bytes += len(raw)
                intake.line(raw)
                if intake.events > before:
                    kept.stage(intake.newest_us)
        said = (await process.stderr.read()).decode("utf-8", "replace").strip().splitlines()
        raise SourceError(f"journalctl ended: {said[-1] if said else 'it gave no reason'}")
    finally:
        kept.close()
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line; one that is longer than the stream's buffer comes in pieces; empty at the end."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as short:
        return short.partial
    except asyncio.LimitOverrunError as long:
        return await stream.readexactly(long.consumed)


async def serve_stream(lines: Iterable[bytes], intake: Intake, interval_s: float) -> None:
    """Read a stream to its end. A thread reads: standard input may be a file, which no event loop can wait on."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue(1000)
    stopped = threading.Event()

    def pump() -> None:
        with contextlib.suppress(RuntimeError, concurrent.futures.CancelledError):  # the loop has gone
            for raw in lines:
                if stopped.is_set():
                    return
                asyncio.run_coroutine_threadsafe(queue.put(raw), loop).result()
            asyncio.run_coroutine_threadsafe(queue.put(None), loop).result()

    threading.Thread(target=pump, name="stdin", daemon=True).start()
    number = 0
    try:
        async with beating(intake, interval_s):
            while (raw := await queue.get()) is not None:
                number += 1
                intake.bytes += len(raw)
                intake.line(raw, number)
    finally:
        stopped.set()


@contextlib.asynccontextmanager
async def beating(
    intake: Intake, interval_s: float, trouble: Callable[[], str | None] = lambda: None
) -> AsyncIterator[None]:
    """Report every `interval_s` seconds while the block runs, and once at its end."""

    async def beat() -> None:
        while True:
            began_s = time.monotonic()
            await asyncio.sleep(interval_s)
            intake.beat(began_s, interval_s, trouble())

    task = asyncio.create_task(beat())
    began_s = time.monotonic()
    try:
        yield
    finally:
        task.cancel()
        intake.beat(began_s, interval_s, trouble())
