"""Findings to incidents and node health in the app: the one partition where all planes meet."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from aiokafka import TopicPartition

from streams.client import Clients
from streams.contract import FINDINGS, Finding
from streams.correlation import Correlation
from streams.detectors.all import Choice
from streams.mishaps import told
from streams.outbox import Outbox
from streams.tables import KeptTable
from streams.warmup import last_minutes, published
from streams.world import World

log = logging.getLogger("lockstep.stream")

PARTITION = 0


@dataclass(slots=True)
class Desk:
    """Active on the worker that owns the findings; elsewhere it holds nothing."""

    world: World
    table: KeptTable
    outbox: Outbox
    choices: Mapping[str, Choice] = field(default_factory=dict)
    """Of a limits file."""
    correlation: Correlation | None = None
    next: int = 0
    """The next offset of the findings."""
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self, clients: Clients, group: str) -> None:
        """Take over from what was kept. The world has to be read first: places decide what is whose cause."""
        self.next = (await clients.committed(group)).get((FINDINGS.name, PARTITION), 0)
        here = TopicPartition(FINDINGS.name, PARTITION)
        _, since_ms = await last_minutes(clients, {FINDINGS.name: FINDINGS}, {here: self.next})
        self.outbox.remember(await published(clients, since_ms or 0))
        self.correlation = self._restored()
        self.ready.set()

    def _restored(self) -> Correlation:
        """As kept: what was judged since the last write is judged again."""
        correlation = Correlation(self.world, choices=self.choices)
        try:
            correlation.restore(self.table.rows(PARTITION))
        except msgspec.MsgspecError as why:
            log.warning("open incidents cannot be read, starting afresh: %s", why)
            return Correlation(self.world, choices=self.choices)
        return correlation

    def close(self) -> None:
        """The findings went to another worker."""
        self.correlation = None
        self.ready.clear()

    async def take(self, finding: Finding, offset: int) -> None:
        """Judge one finding: tell what it brings, then remember it."""
        if self.correlation is None:
            return
        try:
            out = self.correlation.feed(finding)
        except Exception as error:  # noqa: BLE001 - one finding that cannot be joined must not stop the others
            await self._set_back(FINDINGS.name, offset, FINDINGS.encode(finding), error)
            return
        await self.outbox.send(out)
        await self._keep()

    async def tick(self, ts_us: int) -> None:
        """What the passing of time brings."""
        if self.correlation is None:
            return
        try:
            out = self.correlation.tick(ts_us)
        except Exception as error:  # noqa: BLE001 - findings are still joined, and told
            await self._set_back("ticks", None, b"", error)
            return
        await self.outbox.send(out)
        await self._keep()

    async def _set_back(self, source: str, offset: int | None, raw: bytes, error: Exception) -> None:
        self.outbox.metrics.mishaps.labels("correlator").inc()
        self.correlation = self._restored()
        await self.outbox.reject(source, PARTITION, offset, raw, f"correlator: {told(error)}", by="correlator")

    async def _keep(self) -> None:
        if self.correlation is not None:
            rows = self.correlation.take_changes()
            if rows:
                await self.table.write(PARTITION, rows)
