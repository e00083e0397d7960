"""One HTTP POST of JSON to a receiver, and what its answer means."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp

REFUSED = frozenset({400, 413, 422})
"""It will not take this very message, however often it is sent."""
FIRST_WAIT_S, MOST_WAIT_S = 1.0, 60.0
"""Between tries at one that does not answer, doubled each time; ours."""
MOST_TOLD_WAIT_S = 3600.0
"""A `Retry-After` is believed up to here; ours."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Taken or not, and why. `after_s`: it says itself when to come back."""

    taken: bool
    words: str
    refused: bool = False
    after_s: float | None = None


@dataclass(slots=True)
class Patience:
    """When a receiver that does not answer is tried again. Times are Unix microseconds."""

    retry_at_us: int = 0
    failing: bool = False
    _wait_s: float = FIRST_WAIT_S

    def is_due(self, now_us: int) -> bool:
        """May it be tried?"""
        return now_us >= self.retry_at_us

    def answered(self, name: str) -> None:
        """It took a message."""
        if self.failing:
            _log(name).warning("%s takes alerts again", name)
        self.failing, self.retry_at_us, self._wait_s = False, 0, FIRST_WAIT_S

    def failed(self, name: str, answer: Answer, now_us: int) -> None:
        """It did not."""
        if not self.failing:
            _log(name).warning("%s takes no alerts, they are kept and sent again: %s", name, answer.words)
        self.failing = True
        wait_s = self._wait_s if answer.after_s is None else max(answer.after_s, FIRST_WAIT_S)
        self.retry_at_us = now_us + int(wait_s * 1e6)
        self._wait_s = min(self._wait_s * 2, MOST_WAIT_S)


@dataclass(slots=True)
class Poster:
    """Posts to one address. The address may hold a secret: it shows nowhere."""

    session: aiohttp.ClientSession
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    async def post(self, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        """Send and read the whole answer; never raises for what the other side does."""
        try:
            async with self.session.post(
                self.url, json=body, headers={**self.headers, **(headers or {})}, allow_redirects=False
            ) as reply:
                text = (await reply.text(errors="replace"))[:500].strip()
                after_s = retry_after_s(reply.headers.get("Retry-After"), datetime.now(UTC))
                status = reply.status
        except TimeoutError:
            return Answer(False, "no answer in time")
        except (aiohttp.ClientError, OSError, ValueError) as why:
            return Answer(False, _without_secret(str(why) or type(why).__name__, self.url))
        words = f"{status} {text}".strip()
        return Answer(status // 100 == 2, words, status in REFUSED, after_s)


def retry_after_s(header: str | None, now: datetime) -> float | None:
    """Seconds or a date, as RFC 9110 has it; None: not said, or not readable."""
    if header is None:
        return None
    try:
        wait_s = float(header)
    except ValueError:
        try:
            wait_s = (parsedate_to_datetime(header) - now).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(0.0, wait_s), MOST_TOLD_WAIT_S) if wait_s == wait_s else None


def shown(url: str) -> str:
    """Scheme, host and port: a path or a name in it may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def _log(name: str) -> logging.Logger:
    """One each: what one receiver says does not make another's words a repetition."""
    return logging.getLogger(f"lockstep.stream.{name.replace('.', '_')}")


def _without_secret(text: str, url: str) -> str:
    return text.replace(url, shown(url)).replace(urlsplit(url).path or url, "/…") if url else text
