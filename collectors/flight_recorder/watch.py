"""Dumps in, windows and beats out."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from collectors.contract.beat import Beat
from collectors.contract.topics import NCCL_WINDOWS
from collectors.cursor import CursorFile
from collectors.defect import defect
from collectors.flight_recorder.folder import Bad, Found, Stamp, list_dumps, read_file
from collectors.flight_recorder.recorded import Dump
from collectors.flight_recorder.window import windows
from collectors.source import Outlet, SourceError

LOOK_S = 1.0
"""Between two looks at the folder. A file is read when it looked the same twice: it is not being written."""
UNFINISHED_S = 30.0
"""So long after its last byte a dump without an end is given up: its process was killed while it wrote."""

Kept = dict[str, Stamp]
"""File name -> what was read of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class What:
    """Which folder, and as whose its dumps are told."""

    folder: Path
    prefix: str
    cluster: str
    collector: str
    job: str
    node: str
    last: int | None


class Watch:
    """Reads each dump once, and again where it was written again."""

    def __init__(self, what: What, outlet: Outlet, now_us: Callable[[], int] = lambda: time.time_ns() // 1000) -> None:
        self._what = what
        self._outlet = outlet
        self._now_us = now_us
        self._seen: Kept = {}
        self._done: Kept = {}
        self._messages = self._samples = self._bytes = 0
        self._trouble: str | None = None
        self._interval_s = 0.0
        self._beaten_s: float | None = None

    def once(self) -> int:
        """Every dump that is there now; the number of messages. Raises `SourceError`."""
        found = list(list_dumps(self._what.folder, self._what.prefix))
        if not found:
            raise SourceError(f"--dir {self._what.folder}: no file {self._what.prefix}RANK in it")
        for one in found:
            self._take(one, read_file(one.path))
        return self._messages

    async def run(self, interval_s: float, kept: CursorFile[Kept]) -> None:
        """Until cancelled. A beat an interval; dumps are told as soon as they are whole."""
        self._done, self._interval_s = kept.load() or {}, interval_s
        while True:
            try:
                if await self.look():
                    kept.stage(dict(self._done))
            except Exception as why:  # noqa: BLE001 (the next look is tried)
                self._trouble = defect(f"flight-recorder:{self._what.folder}", why)
            kept.settle()
            self._beat_if_due()
            await asyncio.sleep(min(LOOK_S, interval_s))

    async def look(self) -> bool:
        """One look at the folder; whether a file was read or given up."""
        try:
            found = await asyncio.to_thread(lambda: list(list_dumps(self._what.folder, self._what.prefix)))
        except SourceError as why:
            self._trouble = str(why)
            return False
        settled, news = self._seen, False
        self._seen = {one.path.name: one.stamp for one in found}
        for one in found:
            name = one.path.name
            if settled.get(name) != one.stamp or self._done.get(name) == one.stamp:
                continue
            try:
                read = await asyncio.to_thread(read_file, one.path)
            except Exception as why:  # noqa: BLE001 (the dumps of other ranks are read)
                read = Bad(b"", f"{one.path}: {defect(f'flight-recorder:{one.path}', why)}")
            self._bytes += len(read.raw) if isinstance(read, Bad) else read.size
            if isinstance(read, Bad) and read.cut and self._now_us() - one.stamp.mtime_us < UNFINISHED_S * 1e6:
                continue
            try:
                self._take(one, read)
            except Exception as why:  # noqa: BLE001 (as above)
                self._take(one, Bad(b"", f"{one.path}: {defect(f'flight-recorder:{one.path}', why)}"))
            self._done[name] = one.stamp
            news = True
            self._beat_if_due()
        self._done = {name: stamp for name, stamp in self._done.items() if name in self._seen}
        return news

    def _take(self, one: Found, read: Dump | Bad) -> None:
        what = self._what
        if isinstance(read, Bad):
            self._trouble = read.why
            self._outlet.reject(f"flight-recorder:{one.path}", read.raw, read.why)
            return
        for window in windows(
            read,
            cluster=what.cluster,
            job=what.job,
            node=what.node,
            job_rank=one.rank,
            ts_us=one.stamp.mtime_us,
            last=what.last,
        ):
            self._outlet.publish(NCCL_WINDOWS, window)
            self._messages += 1
            self._samples += len(window.rank)

    def _beat_if_due(self) -> None:
        """In the middle of a look too: the dumps of a thousand ranks take minutes."""
        now_s = time.monotonic()
        if self._beaten_s is not None and now_s - self._beaten_s < self._interval_s:
            return
        since_s, self._beaten_s = self._beaten_s or now_s, now_s
        self._outlet.beat(
            Beat(
                cluster=self._what.cluster,
                ts_us=self._now_us(),
                collector=self._what.collector,
                source="flight-recorder",
                target=str(self._what.folder),
                subject=self._what.job,
                ok=self._trouble is None,
                seconds=round(now_s - since_s, 6) if self._messages else 0.0,
                messages=self._messages,
                samples=self._samples,
                bytes=self._bytes,
                interval_s=self._interval_s,
                error=self._trouble,
            )
        )
        self._messages = self._samples = self._bytes = 0
        self._trouble = None
