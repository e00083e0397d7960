"""Incidents to whoever is on call: the alert book, what is kept of it, and everybody who is told."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from streams.alerts import AlertBook, AlertRow
from streams.alerts_file import AlertsFile
from streams.contract import Incident
from streams.receiver import Receiver
from streams.tables import KeptTable

log = logging.getLogger("lockstep.stream")

PARTITION = 0
ROUND_S = 1.0


@dataclass(slots=True)
class Pager:
    """Active on the worker that owns the incidents."""

    table: KeptTable
    book: AlertBook
    receivers: Sequence[Receiver] = ()
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    _news: dict[str, asyncio.Event] = field(default_factory=dict)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def open(self) -> None:
        """Take over from what was kept."""
        try:
            self.book.restore(self.table.rows(PARTITION))
        except msgspec.MsgspecError as why:
            log.warning("open alerts cannot be read, starting afresh: %s", why)
        for receiver in self.receivers:
            if isinstance(receiver, AlertsFile):
                receiver.open()
        self.ready.set()
        self._wake()

    def close(self) -> None:
        """The incidents went to another worker, which goes on sending."""
        self.ready.clear()
        self.book.close()

    async def take(self, incident: Incident) -> None:
        """Remember one incident edge; it is sent right after, by `run`."""
        self.book.learn(incident)
        await self._keep()
        self._wake()

    async def run(self) -> None:
        """Tell everybody what is due, on news and every second, until cancelled. Nobody waits for another."""
        async with asyncio.TaskGroup() as tasks:
            for receiver in self.receivers:
                self._news[receiver.name] = asyncio.Event()
                tasks.create_task(self._serve(receiver, self._news[receiver.name]))

    async def _serve(self, receiver: Receiver, news: asyncio.Event) -> None:
        while True:
            await self.ready.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), ROUND_S)
            news.clear()
            if self.ready.is_set():
                await receiver.send_due(time.time_ns() // 1000)
            if self.ready.is_set():
                self.book.forget(time.time_ns() // 1000, self._is_done)
                await self._keep()

    def _is_done(self, row: AlertRow) -> bool:
        return all(receiver.is_done(row) for receiver in self.receivers)

    def _wake(self) -> None:
        for news in self._news.values():
            news.set()

    async def _keep(self) -> None:
        """One at a time: who comes second goes on only when the rows that the first one took are written."""
        async with self._writing:
            rows = self.book.take_changes()
            if rows:
                await self.table.write(PARTITION, rows)
