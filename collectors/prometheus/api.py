"""A server's HTTP API: bounded answers, and what to do about those that do not come."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp

from collectors.dcgm.access import Access, told
from collectors.http_trouble import said
from collectors.prometheus.answer import Answer, BadAnswer, read_answer, read_error, read_names
from collectors.source import SourceError

MOST_BYTES = 64 << 20
"""Of an answer."""
TIMEOUT_S = 120.0
"""`query.timeout` of Prometheus is two minutes by default."""
BUSY = frozenset({408, 429, 500, 502, 503, 504})
TOO_MUCH = frozenset({413, 422})
"""Thanos and Mimir refuse what is too much with 413 or 422, Prometheus (too many samples) with 422."""

Params = Mapping[str, str]
WHOLE: Params = {
    "nocache": "1",
    "deny_partial_response": "1",
    "partial_response": "false",
    "dedup": "true",
    "max_source_resolution": "0s",
}
"""By these VictoriaMetrics and Thanos are told to move no time, to thin nothing out and to leave nothing out."""
T = TypeVar("T")


class Busy(Exception):
    """The server cannot answer now. `after_s`: when it asked to be asked again; None: it did not say."""

    def __init__(self, why: str, after_s: float | None = None) -> None:
        super().__init__(why)
        self.after_s = after_s


class TooMuch(Exception):
    """The answer is more than the server gives or than is read here."""


@dataclass(frozen=True, slots=True)
class Api:
    """One server. `fetch` posts a form and returns the body, or raises `Busy`, `TooMuch` or `SourceError`."""

    fetch: Callable[[str, Params], Awaitable[bytes]]

    async def query(self, params: Params) -> Answer:
        """An instant query."""
        return _read(read_answer, await self.fetch("/api/v1/query", {**WHOLE, **params}))

    async def query_range(self, params: Params) -> Answer:
        """A range query."""
        return _read(read_answer, await self.fetch("/api/v1/query_range", {**WHOLE, **params}))

    async def values(self, label: str, params: Params) -> list[str]:
        """The values of a label."""
        return _read(read_names, await self.fetch(f"/api/v1/label/{label}/values", params))


def _read(read: Callable[[bytes], T], raw: bytes) -> T:
    try:
        return read(raw)
    except BadAnswer as why:
        raise Busy(str(why)) from why


class Http:
    """`fetch` over a session, with the login that the options name."""

    def __init__(self, url: str, access: Access, session: aiohttp.ClientSession, timeout_s: float = TIMEOUT_S) -> None:
        self._url = url.rstrip("/")
        self._access = access
        self._session = session
        self._timeout_s = timeout_s
        self.bytes = 0
        """Of answers so far, unpacked."""

    async def fetch(self, path: str, params: Params) -> bytes:
        """As `Api.fetch`."""
        lines = (line.partition(":") for line in self._access.lines)
        headers = {name.strip(): value.strip() for name, _, value in lines}
        # Label values can only be asked for by GET everywhere; their parameters are short.
        ask: dict[str, Any] = {"params": params} if path.endswith("/values") else {"data": params}
        method = "GET" if path.endswith("/values") else "POST"
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._session.request(
                    method, self._url + path, headers=headers, ssl=self._access.tls, allow_redirects=False, **ask
                ) as answer,
            ):
                body = await _bounded(answer)
                self.bytes += len(body)
                if answer.status == 200:
                    return body
                raise _refusal(answer, body, self._url)
        except TimeoutError as why:
            raise Busy(f"no answer within {self._timeout_s:g} s") from why
        except aiohttp.InvalidURL as why:
            raise SourceError(f"--url {self._url}: not a URL") from why
        except aiohttp.ClientConnectorError as why:
            raise Busy(_said(why.os_error)) from why
        except aiohttp.ClientError as why:
            raise Busy(said(why)) from why


def _said(why: OSError) -> str:
    """The system's words where it has some; asyncio hides them behind its own."""
    return os.strerror(why.errno) if why.errno is not None and why.errno > 0 else told(why)


async def _bounded(answer: aiohttp.ClientResponse) -> bytes:
    out = bytearray()
    async for piece in answer.content.iter_any():
        out += piece
        if len(out) > MOST_BYTES:
            raise TooMuch(f"more than {MOST_BYTES >> 20} MiB")
    return bytes(out)


def _refusal(answer: aiohttp.ClientResponse, body: bytes, url: str) -> Exception:
    said = f"HTTP status {answer.status}: {read_error(body)}".rstrip(": ")
    if answer.status in TOO_MUCH:
        return TooMuch(said)
    if answer.status in BUSY:
        after = answer.headers.get("Retry-After", "")
        return Busy(said, float(after) if after.isdecimal() else None)
    if answer.status in (401, 403):
        return SourceError(f"--url {url}: {said}; give --username and --password-file, or --bearer-token-file")
    if answer.status in (301, 302, 307, 308):
        return SourceError(f"--url {url}: {said}: it moved to {answer.headers.get('Location', 'nowhere')}")
    if answer.status == 404:
        return SourceError(f"--url {url}: {said}; name the part before /api/v1 too, such as /prometheus")
    return SourceError(f"--url {url}: {said}")
