"""Ask a scheduler again and again, tell what changed."""

import asyncio
import hashlib
import socket
import time
from collections.abc import Callable
from pathlib import Path

from collectors.contract.beat import Beat
from collectors.contract.job import JobEvent
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import JOB_EVENTS, JOB_PLACEMENTS
from collectors.cursor import CursorFile
from collectors.defect import defect
from collectors.placement.listing import Listing
from collectors.placement.told import Jobs, ends_of_strangers, news
from collectors.settings import collector_name, collector_settings
from collectors.source import Outlet, SourceError


def tell(events: list[JobEvent], outlet: Outlet) -> int:
    """A placement goes to the compacted topic, an end to the job's life. Returns the number."""
    for event in events:
        outlet.publish(JOB_PLACEMENTS if event.kind == "placed" else JOB_EVENTS, event)
    return len(events)


def tell_once(listing: Listing, outlet: Outlet, name: str) -> int:
    """Everything in a listing. Returns the number of messages."""
    cluster = kafka_settings().cluster
    for why in listing.unread:
        outlet.reject(name, b"", why)
    _, events = news({}, listing, time.time_ns() // 1000, cluster)
    ends = ends_of_strangers({held.job for held in listing.held}, listing, cluster)
    return tell(events + ends, outlet)


class Serving:
    """One scheduler. What was told is kept on disk, so that a restart tells nothing twice and misses no end."""

    def __init__(
        self, source: str, target: str, outlet: Outlet, interval_s: float, instance: str | None = None
    ) -> None:
        self._collector = collector_name(source, instance)
        self._source, self._target, self._outlet, self._interval_s = source, target, outlet, interval_s
        self._cluster = kafka_settings().cluster
        name = hashlib.sha256(target.encode()).hexdigest()[:16]
        path = Path(kafka_settings().state) / "cursors" / f"{source}-{socket.gethostname()}-{name}.json"
        self._kept: CursorFile[Jobs] = CursorFile(path, Jobs, collector_settings().spool_after_s + 1)

    async def run(self, look: Callable[[], Listing]) -> None:
        """Until cancelled. `look` may block and raise `SourceError`: that is a failed sweep, and nothing has ended."""
        jobs = self._kept.load() or {}
        clock = asyncio.get_running_loop().time
        try:
            while True:
                began_s = clock()
                jobs = await self._sweep(look, jobs, began_s)
                self._kept.settle()
                await asyncio.sleep(max(0.0, began_s + self._interval_s - clock()))
        finally:
            self._kept.close()

    async def _sweep(self, look: Callable[[], Listing], jobs: Jobs, began_s: float) -> Jobs:
        error, sent, seen, size = None, 0, 0, 0
        try:
            listing = await asyncio.to_thread(look)
            size = listing.size
            for why_not in listing.unread:
                self._outlet.reject(f"{self._source}:{self._target}", b"", why_not)
            told, events = news(jobs, listing, time.time_ns() // 1000, self._cluster)
            sent, seen = tell(events, self._outlet), len(listing.held)
            jobs = told
            self._kept.stage(jobs)
        except SourceError as why:
            error = str(why)
        except Exception as why:  # noqa: BLE001 (nothing has ended because of it; the next look tells)
            error = defect(f"{self._source}:{self._target}", why)
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source=self._source,
                target=self._target,
                ok=error is None,
                seconds=round(asyncio.get_running_loop().time() - began_s, 6),
                messages=sent,
                samples=seen,
                bytes=size,
                interval_s=self._interval_s,
                error=error,
            )
        )
        return jobs
