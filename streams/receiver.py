"""Receivers of alerts: what each has to be able to do, and those that are told in words."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import structs

from streams.alert_news import Event, news, told_now
from streams.alerts import AlertBook, AlertRow
from streams.contract import Incident
from streams.posting import Answer, Patience

log = logging.getLogger("lockstep.stream")

TURNS: frozenset[Event] = frozenset({"cause", "action"})
"""They may follow each other within seconds, while an outage shows itself; the last of them says it all."""
HELD_US = 600 * 1_000_000
"""What a receiver refused is offered again after so long: somebody may have mended its settings; ours."""


@dataclass(frozen=True, slots=True)
class News:
    """One thing to say of one incident."""

    incident: Incident
    event: Event
    symptoms: int = 0


class Receiver(Protocol):
    """Somebody who is told of incidents."""

    @property
    def name(self) -> str:
        """For people, without secrets; also the name under which the Table keeps what it was told."""

    @property
    def is_away(self) -> bool:
        """Did it not take what it was sent last?"""

    async def send_due(self, now_us: int) -> None:
        """Send what it has not heard yet, if it may be tried now."""

    def is_done(self, row: AlertRow) -> bool:
        """Has it heard all there is to say of an incident that is over?"""

    async def say(self, item: News) -> Answer | None:
        """Say one thing now, whatever was said before, and remember nothing. None: such is not said there."""


class Channel(Protocol):
    """How one kind of receiver puts it."""

    name: str
    hears: frozenset[Event]
    tickets: bool
    """Is it told of tickets, or of pages only?"""
    most_at_once: int
    """News in one message."""
    pause_s: float
    """Between two messages."""
    calm_s: float
    """Between two words on one incident that tells of nothing but another cause or another thing to do."""

    async def say(self, items: Sequence[News]) -> Answer:
        """One message; never raises for what the other side does."""


@dataclass(slots=True)
class Teller:
    """Tells one channel each thing once, and remembers it in the book: at least once, under one key."""

    book: AlertBook
    channel: Channel
    now_us: Callable[[], int]
    patience: Patience = field(default_factory=Patience)
    _held: dict[str, int] = field(default_factory=dict)
    """Incidents that it refused -> when they are offered again."""

    @property
    def name(self) -> str:
        """As the channel calls itself."""
        return self.channel.name

    @property
    def is_away(self) -> bool:
        """It is waited for."""
        return self.patience.failing

    async def send_due(self, now_us: int) -> None:
        """Until nothing is due, it does not answer, or it wants a pause."""
        self._held = {k: at for k, at in self._held.items() if k in self.book.rows and at > now_us}
        while self.patience.is_due(now_us):
            due = self._due(now_us)[: self.channel.most_at_once]
            if not due or not await self._tell(due, now_us):
                return
            if self.channel.pause_s:
                self.patience.retry_at_us = self.now_us() + int(self.channel.pause_s * 1e6)
            now_us = self.now_us()

    def is_done(self, row: AlertRow) -> bool:
        """Nothing that it wants to hear is left."""
        return self._event(row, row.incident.ts_us) is None

    async def say(self, item: News) -> Answer | None:
        """As its channel puts it."""
        return await self.channel.say([item]) if self._is_told(item.incident) else None

    def _is_told(self, incident: Incident) -> bool:
        return self.channel.tickets or incident.severity == "critical"

    def _due(self, now_us: int) -> list[tuple[str, AlertRow, News]]:
        """Oldest first, pages before tickets."""
        found = [
            (key, row, News(row.incident, event, row.symptoms))
            for key, row in self.book.rows.items()
            if key not in self._held and (event := self._event(row, now_us)) is not None
        ]
        return sorted(found, key=lambda d: (d[2].incident.severity != "critical", d[2].incident.ts_us, d[0]))

    def _event(self, row: AlertRow, now_us: int) -> Event | None:
        if not self._is_told(row.incident):
            return None
        told = row.told.get(self.name)
        found = news(row, told, now_us, self.book.limits)
        calm = told is not None and now_us - told.at_us < self.channel.calm_s * 1e6
        return next((e for e in found if e in self.channel.hears and not (calm and e in TURNS)), None)

    async def _tell(self, due: Sequence[tuple[str, AlertRow, News]], now_us: int) -> bool:
        answer = await self.channel.say([item for _, _, item in due])
        if answer.taken:
            for key, row, item in due:
                told = told_now(item.incident, item.event, now_us, row.told.get(self.name))
                self.book.note(key, row, self.name, told)
            self.patience.answered(self.name)
            return True
        if answer.refused and len(due) > 1:
            for one in due:
                if not await self._tell([one], now_us):
                    return False
            return True
        if answer.refused:
            log.error("%s refuses %s, it is offered again: %s", self.name, due[0][2].incident.id, answer.words)
            self._held[due[0][0]] = now_us + HELD_US
            return True
        for key, row, item in due:
            before = row.told.get(self.name)
            if before is not None and item.event in ("quiet", "loud") and not before.is_unsure:
                self.book.note(key, row, self.name, structs.replace(before, is_unsure=True))
        self.patience.failed(self.name, answer, self.now_us())
        return False
