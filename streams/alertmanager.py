"""Delivery to Alertmanager's v2 API: every instance, again while open, with patience for one that is away."""

import asyncio
import logging
import time
from dataclasses import dataclass, field

import aiohttp

from collectors.contract.settings import SettingError
from streams.alerts import Alert, AlertBook, payload

log = logging.getLogger("lockstep.stream")

BATCH = 64
MOST_WAIT_S = 60.0


@dataclass(slots=True)
class Instance:
    """One Alertmanager: what it was told last and when it may be tried again. Times are Unix microseconds."""

    url: str
    told_us: dict[str, int] = field(default_factory=dict)
    told_end: set[str] = field(default_factory=set)
    retry_at_us: int = 0
    wait_s: float = 1.0
    failing: bool = False


def instances(setting: str) -> list[Instance]:
    """Raises `SettingError` on what is no address."""
    urls = [u.strip().rstrip("/") for u in setting.split(",") if u.strip()]
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise SettingError(f"LOCKSTEP_ALERTMANAGER={setting!r}: {url!r}: write http://host:port")
    return [Instance(url) for url in urls]


@dataclass(slots=True)
class AlertmanagerSender:
    """Sends what is due to each instance; one that is away delays no other."""

    book: AlertBook
    targets: list[Instance]
    runbooks: str
    session: aiohttp.ClientSession

    async def send_due(self) -> None:
        """Send new and ended alerts at once, open ones every minute, ended ones for five minutes."""
        await asyncio.gather(*(self._send(t) for t in self.targets))
        delivered = all(
            fingerprint(a) in t.told_end for t in self.targets for a in self.book.alerts() if a.ended_us is not None
        )
        self.book.forget(_now_us(), delivered)
        known = {fingerprint(a) for a in self.book.alerts()}
        for t in self.targets:
            t.told_us = {k: v for k, v in t.told_us.items() if k in known}
            t.told_end &= known

    async def _send(self, target: Instance) -> None:
        now = _now_us()
        if now < target.retry_at_us:
            return
        due = [a for a in self.book.alerts() if self._is_due(target, a, now)]
        for start in range(0, len(due), BATCH):
            batch = due[start : start + BATCH]
            if not await self._post(target, batch, now):
                return
            for alert in batch:
                target.told_us[fingerprint(alert)] = now
                if alert.ended_us is not None:
                    target.told_end.add(fingerprint(alert))

    def _is_due(self, target: Instance, alert: Alert, now_us: int) -> bool:
        name = fingerprint(alert)
        told = target.told_us.get(name)
        if alert.ended_us is None:
            return told is None or now_us - told >= self.book.limits.resend_us
        if name not in target.told_end:
            return True
        fresh = now_us - alert.ended_us <= self.book.limits.resolved_for_us
        return fresh and told is not None and now_us - told >= self.book.limits.resend_us

    async def _post(self, target: Instance, batch: list[Alert], now_us: int) -> bool:
        body = [payload(a, self.book.limits, now_us, self.runbooks) for a in batch]
        try:
            async with self.session.post(f"{target.url}/api/v2/alerts", json=body) as reply:
                text = await reply.text()
                if reply.status == 400:
                    # The good alerts of the batch are stored all the same; sending it again would change nothing.
                    log.error("%s refused some alerts of a batch of %d: %s", target.url, len(batch), text[:500])
                elif reply.status >= 300:
                    return self._later(target, f"status {reply.status}: {text[:200]}")
        except (aiohttp.ClientError, TimeoutError, OSError) as why:
            return self._later(target, str(why) or type(why).__name__)
        if target.failing:
            log.warning("%s takes alerts again", target.url)
        target.failing, target.wait_s, target.retry_at_us = False, 1.0, 0
        return True

    def _later(self, target: Instance, why: str) -> bool:
        if not target.failing:
            log.warning("%s takes no alerts, they are kept and sent again: %s", target.url, why)
        target.failing = True
        target.retry_at_us = _now_us() + int(target.wait_s * 1e6)
        target.wait_s = min(target.wait_s * 2, MOST_WAIT_S)
        return False


def fingerprint(alert: Alert) -> str:
    """The identity of an alert: its labels."""
    return "\x00".join(f"{k}\x01{v}" for k, v in sorted(alert.labels.items()))


def _now_us() -> int:
    return time.time_ns() // 1000
