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
        rows = self.table.rows(PARTITION)
        self.correlation = Correlation(self.world, choices=self.choices)
        try:
            self.correlation.restore(rows)
        except msgspec.MsgspecError as why:
            log.warning("open incidents cannot be read, starting afresh: %s", why)
            self.correlation = Correlation(self.world, choices=self.choices)
        self.ready.set()

    def close(self) -> None:
        """The findings went to another worker."""
        self.correlation = None
        self.ready.clear()

    async def take(self, finding: Finding) -> None:
        """Judge one finding: tell what it brings, then remember it."""
        if self.correlation is not None:
            await self.outbox.send(self.correlation.feed(finding))
            await self._keep()

    async def tick(self, ts_us: int) -> None:
        """What the passing of time brings."""
        if self.correlation is not None:
            await self.outbox.send(self.correlation.tick(ts_us))
            await self._keep()

    async def _keep(self) -> None:
        if self.correlation is not None:
            rows = self.correlation.take_changes()
            if rows:
                await self.table.write(PARTITION, rows)
