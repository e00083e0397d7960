"""One target, read again and again: page in, messages and a beat out."""

import asyncio
import os
import ssl
import time
from collections.abc import Callable

from collectors.contract.beat import Beat
from collectors.contract.topics import GPU_SCRAPES
from collectors.dcgm.build import BadLine
from collectors.dcgm.http import Client
from collectors.dcgm.page import PageReader, Parsed
from collectors.dcgm.targets import Target
from collectors.source import Outlet


class Sweep:
    """Holds a target's connection and the shape of its page."""

    def __init__(
        self,
        target: Target,
        outlet: Outlet,
        *,
        cluster: str,
        collector: str,
        node: str,
        timeout_s: float,
        interval_s: float | None,
        tls: ssl.SSLContext | None = None,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._target = target
        self._outlet = outlet
        self._cluster = cluster
        self._collector = collector
        self._timeout_s = timeout_s
        self._interval_s = interval_s
        self._now_us = now_us
        self._client = None if target.url is None else Client(target.url, tls)
        self._reader = PageReader(node, cluster)
        self._subject: str | None = None

    async def run(self) -> int:
        """One sweep; the number of messages. What goes wrong is in the beat, never raised."""
        began = time.perf_counter()
        try:
            raw = await self._fetch()
        except OSError as why:
            self._beat(began, Parsed([], 0), _said(why))
            return 0
        ts_us = self._now_us()
        parsed = self._reader.read(raw.decode("utf-8", "replace"), ts_us)
        for scrape in parsed.scrapes:
            self._outlet.publish(GPU_SCRAPES, scrape)
        if parsed.bad:
            self._reject(raw, parsed)
        if parsed.scrapes:
            self._subject = parsed.scrapes[0].node
        self._beat(began, parsed, None if parsed.samples else "no samples on the page")
        return len(parsed.scrapes)

    def close(self) -> None:
        """Drop the connection."""
        if self._client is not None:
            self._client.close()

    async def _fetch(self) -> bytes:
        if self._client is not None:
            return await self._client.get(self._timeout_s)
        assert self._target.path is not None
        return await asyncio.to_thread(self._target.path.read_bytes)

    def _reject(self, raw: bytes, parsed: Parsed) -> None:
        """The lines that could not be read, or the whole page where no line could."""
        bad = parsed.bad
        why = f"{len(bad)} lines could not be read, the first is {bad[0].why}"
        text = _lines(bad).encode() if parsed.samples else raw
        self._outlet.reject(f"dcgm:{self._target.name}", text, why if len(bad) > 1 else bad[0].why)

    def _beat(self, began: float, parsed: Parsed, error: str | None) -> None:
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=self._now_us(),
                collector=self._collector,
                source="dcgm",
                target=self._target.name,
                subject=self._subject,
                ok=error is None,
                seconds=time.perf_counter() - began,
                messages=len(parsed.scrapes),
                samples=parsed.samples,
                interval_s=self._interval_s,
                error=error,
            )
        )


def _said(why: OSError) -> str:
    """The system's words where it has some; asyncio hides them behind its own."""
    if why.errno is not None and why.errno > 0:
        return os.strerror(why.errno)
    return why.strerror or str(why) or type(why).__name__


def _lines(bad: list[BadLine]) -> str:
    return "\n".join(line.text for line in bad)
