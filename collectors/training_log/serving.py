"""The log as it grows, and where the next start goes on."""

import asyncio
import hashlib
import logging
import socket
import time
from collections.abc import Callable
from datetime import tzinfo
from pathlib import Path

from msgspec import Struct

from collectors.contract.kafka import kafka_settings
from collectors.cursor import CursorFile
from collectors.defect import defect
from collectors.settings import collector_settings
from collectors.source import SourceError
from collectors.tail import Position, Tail
from collectors.training_log.file import since
from collectors.training_log.intake import Intake
from collectors.training_log.kept import Kept

POLL_S = 0.25
"""A regular file gives no sign when it grows."""


class Cursor(Struct, frozen=True):
    """How far a log was read, and what was known then."""

    position: Position
    kept: bytes
    """`Kept` as JSON: it goes on changing while the cursor settles."""


async def follow(path: Path, make: Callable[..., Intake], zone: tzinfo | None, interval_s: float) -> None:
    """Until cancelled. A file that is not there yet is waited for; what it held at the start is read as an old log."""
    import msgspec

    log = logging.getLogger("lockstep.collect")
    intake = make()
    name = hashlib.sha256(f"{path.resolve()}\n{intake.job}".encode()).hexdigest()[:16]
    file = Path(kafka_settings().state) / "cursors" / f"training-log-{socket.gethostname()}-{name}.json"
    cursor = CursorFile(file, Cursor, collector_settings().spool_after_s + 1)
    last = cursor.load()
    tail = Tail(path, None if last is None else last.position, bars=True)
    fresh, live, form = last is None, False, None
    if last is not None:
        intake = make(kept=msgspec.json.decode(last.kept, type=Kept))
    began_s, beat_at_s = time.monotonic(), 0.0
    try:
        while True:
            trouble, found, before = None, [], tail.bytes
            try:
                if not path.exists():
                    trouble = f"no file {path}"
                elif fresh:
                    since_us, walked = await asyncio.to_thread(since, path, intake.log, zone)
                    intake, fresh = make(since_us=since_us, walked=walked), False
                found = await asyncio.to_thread(tail.read)
            except OSError as why:
                trouble = f"{path}: {why.strerror}"
            except SourceError as why:
                trouble = str(why)
            except Exception as why:  # noqa: BLE001 (it is tried again, and other sources go on)
                trouble = defect(f"training-log:{path}", why)
            intake.bytes += tail.bytes - before
            now_us = time.time_ns() // 1000
            for i, line in enumerate(found):
                intake.line(line.raw, now_us if live else None)
                if i % 1000 == 999:
                    await asyncio.sleep(0)
            live = live or not found
            if not found:
                intake.rest(now_us)
            intake.flush()
            if intake.log.form != form:
                form = intake.log.form
                log.info("%s: lines of %s", path, form)
            if found:
                cursor.stage(Cursor(tail.position, msgspec.json.encode(intake.log.kept)))
            cursor.settle()
            if time.monotonic() >= beat_at_s:
                beat_at_s = time.monotonic() + interval_s
                intake.beat(began_s, interval_s, trouble or _nothing(intake))
            began_s = time.monotonic()
            if not found:
                await asyncio.sleep(POLL_S)
    finally:
        cursor.close()


def _nothing(intake: Intake) -> str | None:
    """A log that grows and says nothing is not read, whatever the reason."""
    if intake.log.form is not None or intake.lines < 10_000:
        return None
    return f"none of {intake.lines} lines is a step of a framework that is known"
