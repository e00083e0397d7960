"""One target, read again and again: page in, messages and a beat out."""

import argparse
import os
import socket
import ssl
import time
from collections.abc import Callable

from collectors.contract.beat import Beat
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import GPU_SCRAPES
from collectors.dcgm.access import told
from collectors.dcgm.build import BadLine
from collectors.dcgm.page import PageReader, Parsed
from collectors.dcgm.pages import Pages, pages_of
from collectors.dcgm.shared import Shared
from collectors.dcgm.targets import Target
from collectors.defect import defect
from collectors.settings import this_node
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
        pages: Pages,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._target = target
        self._outlet = outlet
        self._cluster = cluster
        self._collector = collector
        self._timeout_s = timeout_s
        self._interval_s = interval_s
        self._now_us = now_us
        self._pages = pages
        self._make_reader: Callable[[], PageReader] = lambda: PageReader(node, cluster)
        self._reader = self._make_reader()
        self._subject: str | None = None
        self._began_s: float | None = None
        self._ended: Callable[[int], None] | None = None

    def start(self, ended: Callable[[int], None] | None = None) -> None:
        """Begin a sweep, unless one runs. `ended` is called with the number of messages.

        What goes wrong is in the beat, never raised.
        """
        if self._began_s is None:
            self._began_s = time.perf_counter()
            self._ended = ended
            try:
                self._pages.fetch(self._done)
            except Exception as why:  # noqa: BLE001 (a defect at one target must cost no other)
                self._pages.give_up(OSError(defect(f"dcgm:{self._target.name}", why)))

    @property
    def runs(self) -> bool:
        """A sweep has begun and not ended."""
        return self._began_s is not None

    def check(self) -> None:
        """End a sweep that takes too long."""
        if self._began_s is not None and time.perf_counter() - self._began_s > self._timeout_s:
            self._pages.give_up(TimeoutError(f"no answer within {self._timeout_s:g} s"))

    def close(self) -> None:
        """Drop the connection."""
        self._pages.close()

    def _done(self, result: bytes | OSError) -> None:
        began_s, self._began_s = self._began_s or 0.0, None
        parsed, error = Parsed([], 0), None
        if isinstance(result, OSError):
            error = said(result)
        else:
            parsed, error = self._read(result)
            if error is not None and parsed.bad:
                error += f": {parsed.bad[0].why}"
            for scrape in parsed.scrapes:
                self._outlet.publish(GPU_SCRAPES, scrape)
                self._subject = scrape.node
            if parsed.bad:
                self._reject(result, parsed)
        size = 0 if isinstance(result, OSError) else len(result)
        self._beat(time.perf_counter() - began_s, parsed, size, error)
        if self._ended is not None:
            self._ended(len(parsed.scrapes))

    def _read(self, page: bytes) -> tuple[Parsed, str | None]:
        try:
            parsed = self._reader.read(page, self._now_us())
        except Exception as why:  # noqa: BLE001 (raised into the protocol it would silence this target for good)
            error = defect(f"dcgm:{self._target.name}", why)
            self._outlet.reject(f"dcgm:{self._target.name}", page, error)
            self._reader = self._make_reader()
            return Parsed([], 0), error
        return parsed, None if parsed.samples else "no samples on the page"

    def _reject(self, page: bytes, parsed: Parsed) -> None:
        """The lines that could not be read, or the whole page where no line could."""
        bad = parsed.bad
        why = f"{len(bad)} lines could not be read, the first is {bad[0].why}"
        text = _lines(bad).encode() if parsed.samples else page
        self._outlet.reject(f"dcgm:{self._target.name}", text, why if len(bad) > 1 else bad[0].why)

    def _beat(self, seconds: float, parsed: Parsed, size: int, error: str | None) -> None:
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=self._now_us(),
                collector=self._collector,
                source="dcgm",
                target=self._target.name,
                subject=self._subject,
                ok=error is None,
                seconds=seconds,
                messages=len(parsed.scrapes),
                samples=parsed.samples,
                bytes=size,
                interval_s=self._interval_s,
                error=error,
            )
        )


def said(why: OSError) -> str:
    """The system's words where it has some; asyncio hides them behind its own."""
    if isinstance(why, ssl.SSLError):
        return told(why)
    if why.errno is not None and why.errno > 0:
        return os.strerror(why.errno)
    if isinstance(why, ConnectionError) and not why.args:
        return "closed before TLS was agreed on"
    return why.strerror or str(why) or type(why).__name__


def _lines(bad: list[BadLine]) -> str:
    return "\n".join(line.text for line in bad)


class Reporter:
    """A beat for each look at what says where targets are."""

    def __init__(self, args: argparse.Namespace, outlet: Outlet) -> None:
        self._collector = _collector(args)
        self._outlet = outlet

    def __call__(self, name: str, took_s: float, error: str | None) -> None:
        """As in `Report`."""
        self._outlet.beat(
            Beat(
                cluster=kafka_settings().cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source="dcgm",
                target=name,
                ok=error is None,
                seconds=took_s,
                error=error,
            )
        )


def sweep_of(args: argparse.Namespace, target: Target, outlet: Outlet, shared: Shared) -> Sweep:
    """The sweep of one target as the options want it."""
    host = target.url.host if target.url is not None else this_node()
    return Sweep(
        target,
        outlet,
        cluster=kafka_settings().cluster,
        collector=_collector(args),
        node=target.node or args.node or host,
        timeout_s=args.timeout,
        interval_s=None if getattr(args, "once", False) else args.interval,
        pages=pages_of(target, shared),
    )


def _collector(args: argparse.Namespace) -> str:
    instance = getattr(args, "instance", None)
    return f"dcgm@{socket.gethostname()}" + (f":{instance}" if instance else "")
