"""Streams that run for as long as a test looks at what they publish."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.gnmi.patience import Backoff
from collectors.gnmi.service import run
from collectors.gnmi.stream import Reporting, Stream
from collectors.gnmi.target import Target
from tests.collectors.list_outlet import ListOutlet

INTERVAL_S = 0.1


def reporting(outlet: ListOutlet, interval_s: float = INTERVAL_S) -> Reporting:
    return Reporting(
        outlet=outlet, collector="gnmi@here", cluster="c", interval_s=interval_s, backoff=Backoff(0.05, 0.1)
    )


@asynccontextmanager
async def collecting(*targets: Target, interval_s: float = INTERVAL_S) -> AsyncIterator[ListOutlet]:
    outlet = ListOutlet()
    shared = reporting(outlet, interval_s)
    task = asyncio.create_task(run([Stream(t, shared) for t in targets], interval_s))
    try:
        yield outlet
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def scrapes(outlet: ListOutlet, name: str = "leaf1") -> list[PortScrape]:
    return [s for s in outlet.of(FABRIC_SCRAPES) if s.device == name]


def errors(outlet: ListOutlet) -> list[str]:
    return [beat.error or "" for beat in outlet.beats if not beat.ok]


async def until(true: Callable[[], bool]) -> None:
    """Wait for it; a test that waits for a minute has failed."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def play(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]
