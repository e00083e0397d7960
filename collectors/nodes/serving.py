"""Look at all nodes again and again, tell what changed, and everything now and then."""

import asyncio
import hashlib
import socket
import time
from collections.abc import Callable
from pathlib import Path

from collectors.contract.beat import Beat
from collectors.contract.kafka import kafka_settings
from collectors.contract.node import NodeState
from collectors.contract.topics import NODE_STATES
from collectors.cursor import CursorFile
from collectors.defect import defect
from collectors.nodes.listing import NodeListing, news
from collectors.settings import collector_name, collector_settings
from collectors.source import Outlet, SourceError

Told = dict[str, NodeState]


def tell_once(listing: NodeListing, outlet: Outlet, name: str) -> int:
    """Everything in a listing. Returns the number of messages."""
    for why in listing.unread:
        outlet.reject(name, b"", why)
    for state in listing.states.values():
        outlet.publish(NODE_STATES, state)
    return len(listing.states)


class Serving:
    """What was told is kept on disk, so that a node that left while nobody looked is told as unknown."""

    def __init__(
        self, target: str, outlet: Outlet, interval_s: float, again_s: float, instance: str | None = None
    ) -> None:
        self._collector = collector_name("nodes", instance)
        self._target, self._outlet, self._interval_s, self._again_s = target, outlet, interval_s, again_s
        self._cluster = kafka_settings().cluster
        name = hashlib.sha256(target.encode()).hexdigest()[:16]
        path = Path(kafka_settings().state) / "cursors" / f"nodes-{socket.gethostname()}-{name}.json"
        self._kept: CursorFile[Told] = CursorFile(path, Told, collector_settings().spool_after_s + 1)

    async def run(self, look: Callable[[], NodeListing]) -> None:
        """Until cancelled. `look` may block and raise `SourceError`: that is a failed sweep, and nothing changed."""
        told = self._kept.load() or {}
        clock = asyncio.get_running_loop().time
        whole_s: float | None = None
        try:
            while True:
                began_s = clock()
                due = whole_s is None or began_s - whole_s >= self._again_s
                told, ok = await self._sweep(look, told, due)
                whole_s = began_s if due and ok else whole_s
                self._kept.settle()
                await asyncio.sleep(max(0.0, began_s + self._interval_s - clock()))
        finally:
            self._kept.close()

    async def _sweep(self, look: Callable[[], NodeListing], told: Told, everything: bool) -> tuple[Told, bool]:
        began_s, error, sent, size = time.monotonic(), None, 0, 0
        listing: NodeListing | None = None
        try:
            listing = await asyncio.to_thread(look)
            size = listing.size
            for why_not in listing.unread:
                self._outlet.reject(f"nodes:{self._target}", b"", why_not)
            fresh = {state.node: state for state in news(told, listing, time.time_ns() // 1000)}
            spoken = {**listing.states, **fresh} if everything else fresh
            for state in spoken.values():
                self._outlet.publish(NODE_STATES, state)
            sent = len(spoken)
            told = {**told, **listing.states, **fresh}
            if sent:
                self._kept.stage(told)
        except SourceError as why:
            error = str(why)
        except Exception as why:  # noqa: BLE001 (nothing changed because of it; the next look tells)
            error = defect(f"nodes:{self._target}", why)
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source="nodes",
                target=self._target,
                ok=error is None,
                seconds=round(time.monotonic() - began_s, 6),
                messages=sent,
                samples=len(listing.states) if listing else 0,
                bytes=size,
                interval_s=self._interval_s,
                error=error,
            )
        )
        return told, error is None
