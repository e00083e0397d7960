"""Incidents to whoever is on call: the alert book, what is kept of it, and the sender."""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from streams.alertmanager import AlertmanagerSender
from streams.alerts import AlertBook
from streams.alerts_file import AlertsFile
from streams.contract import Incident
from streams.tables import KeptTable

log = logging.getLogger("lockstep.stream")

PARTITION = 0


@dataclass(slots=True)
class Pager:
    """Active on the worker that owns the incidents. Without a `sender` alerts go to terminal and file."""

    table: KeptTable
    book: AlertBook
    sender: AlertmanagerSender | None = None
    file: AlertsFile | None = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def open(self) -> None:
        """Take over from what was kept."""
        try:
            self.book.restore(self.table.rows(PARTITION))
        except msgspec.MsgspecError as why:
            log.warning("open alerts cannot be read, starting afresh: %s", why)
        if self.file is not None:
            self.file.open()
        self.ready.set()
        self._news.set()

    def close(self) -> None:
        """The incidents went to another worker, which goes on sending."""
        self.ready.clear()
        self.book.rows.clear()
        self.book.changed.clear()

    async def take(self, incident: Incident) -> None:
        """Remember one incident edge; it is sent right after, by `run`."""
        self.book.learn(incident)
        await self._keep()
        self._news.set()

    async def run(self) -> None:
        """Send what is due, on news and every second, until cancelled."""
        while True:
            await self.ready.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 1.0)
            self._news.clear()
            if not self.ready.is_set():
                continue
            if self.sender is not None:
                await self.sender.send_due()
            elif self.file is not None:
                self.file.write_due(time.time_ns() // 1000)
            await self._keep()

    async def _keep(self) -> None:
        rows = self.book.take_changes()
        if rows:
            await self.table.write(PARTITION, rows)
