"""Delivery to Alertmanager's v2 API: each instance by itself, again while open, with patience for one that is away."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from collectors.contract.settings import SettingError
from streams.alert_labels import Links, labels_of
from streams.alert_payload import payload
from streams.alerts import Alert, AlertBook, AlertRow
from streams.posting import Answer, Patience, Poster, shown
from streams.receiver import News

log = logging.getLogger("lockstep.stream")

BATCH = 64


def addresses(setting: str) -> list[str]:
    """Base URLs of a comma list. Raises `SettingError` on what is no address."""
    urls = [u.strip().rstrip("/") for u in setting.split(",") if u.strip()]
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise SettingError(f"LOCKSTEP_ALERTMANAGER={setting!r}: {url!r}: write http://host:port")
    return urls


@dataclass(slots=True)
class Alertmanager:
    """One instance: what it was told last and when it may be tried again. Times are Unix microseconds.

    What it was told is not kept: the same labels again are the same alert.
    """

    book: AlertBook
    poster: Poster
    links: Links
    now_us: Callable[[], int]
    told_us: dict[str, int] = field(default_factory=dict)
    told_end: set[str] = field(default_factory=set)
    patience: Patience = field(default_factory=Patience)

    @property
    def name(self) -> str:
        """Its address, without a name or path in it."""
        return f"alertmanager {shown(self.poster.url)}"

    @property
    def is_away(self) -> bool:
        """It is waited for."""
        return self.patience.failing

    async def send_due(self, now_us: int) -> None:
        """Send new and ended alerts at once, open ones every minute, ended ones for five minutes."""
        if not self.patience.is_due(now_us):
            return
        due = [(row, a) for row in self.book.rows.values() for a in row.alerts if self._is_due(a, now_us)]
        for start in range(0, len(due), BATCH):
            batch = due[start : start + BATCH]
            if not await self._post(batch, now_us):
                return
        known = {fingerprint(a) for a in self.book.alerts()}
        self.told_us = {k: v for k, v in self.told_us.items() if k in known}
        self.told_end &= known

    def is_done(self, row: AlertRow) -> bool:
        """It was told every end."""
        return all(fingerprint(a) in self.told_end for a in row.alerts)

    async def say(self, item: News) -> Answer | None:
        """One alert."""
        i = item.incident
        alert = Alert(labels_of(i), i, i.opened_us, i.cleared_us)
        return await self.poster.post([payload(alert, self.book.limits, self.now_us(), self.links, item.symptoms)])

    def _is_due(self, alert: Alert, now_us: int) -> bool:
        name, limits = fingerprint(alert), self.book.limits
        told = self.told_us.get(name)
        if (alert.ended_us is not None) != (name in self.told_end):
            return True
        if alert.ended_us is not None and now_us - alert.ended_us > limits.resolved_for_us:
            return False
        return told is None or now_us - told >= limits.resend_us

    async def _post(self, batch: list[tuple[AlertRow, Alert]], now_us: int) -> bool:
        sent = [(fingerprint(a), a.ended_us is not None) for _, a in batch]
        body = [payload(a, self.book.limits, now_us, self.links, row.symptoms) for row, a in batch]
        answer = await self.poster.post(body)
        if answer.refused:
            # The good alerts of the batch are stored all the same; sending it again would change nothing.
            log.error("%s refused some alerts of a batch of %d: %s", self.name, len(batch), answer.words)
        elif not answer.taken:
            self.patience.failed(self.name, answer, self.now_us())
            return False
        for name, is_end in sent:
            self.told_us[name] = now_us
            (self.told_end.add if is_end else self.told_end.discard)(name)
        self.patience.answered(self.name)
        return True


def fingerprint(alert: Alert) -> str:
    """The identity of an alert: its labels."""
    return "\x00".join(f"{k}\x01{v}" for k, v in sorted(alert.labels.items()))
