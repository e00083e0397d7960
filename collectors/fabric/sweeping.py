"""One target, read again and again: messages, rejects and a beat a sweep, whatever went wrong."""

import argparse
import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from collectors.contract.beat import Beat
from collectors.contract.errors import UserError
from collectors.contract.kafka import kafka_settings
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.defect import defect
from collectors.gpu.apart import apart
from collectors.source import Outlet

T = TypeVar("T")


@dataclass(slots=True)
class Swept:
    """What one sweep brought. `error` with messages beside it: a part was read."""

    messages: list[tuple[Topic[Any], Message]] = field(default_factory=list)
    samples: int = 0
    rejects: list[tuple[bytes, str]] = field(default_factory=list)
    subject: str | None = None
    error: str | None = None
    bytes: int = 0
    """Read from the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporter:
    """What one process says of its sweeps. `interval_s` None: it reads once."""

    outlet: Outlet
    source: str
    collector: str
    cluster: str
    interval_s: float | None
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000

    async def sweep(self, target: str, read: Callable[[], Awaitable[Swept]], timeout_s: float) -> int:
        """Read, publish, beat. Returns the number of messages; a failure is in the beat, never raised."""
        began_s, swept = time.perf_counter(), Swept()
        try:
            async with asyncio.timeout(timeout_s):
                swept = await read()
        except TimeoutError as why:
            swept.error = str(why) or f"no answer within {timeout_s:g} s"
        except (OSError, UserError) as why:
            swept.error = said(why)
        except Exception as why:  # noqa: BLE001 (the next sweep is tried, and other targets go on)
            swept.error = defect(f"{self.source}:{target}", why)
        for topic, message in swept.messages:
            self.outlet.publish(topic, message)
        for raw, words in swept.rejects:
            self.outlet.reject(f"{self.source}:{target}", raw, words)
        self.outlet.beat(
            Beat(
                cluster=self.cluster,
                ts_us=self.now_us(),
                collector=self.collector,
                source=self.source,
                target=target,
                subject=swept.subject,
                ok=swept.error is None,
                seconds=time.perf_counter() - began_s,
                messages=len(swept.messages),
                samples=swept.samples,
                bytes=swept.bytes,
                interval_s=self.interval_s,
                error=swept.error,
            )
        )
        return len(swept.messages)

    async def forever(self, target: str, read: Callable[[], Awaitable[Swept]], timeout_s: float) -> None:
        """A sweep an interval, until cancelled; one that takes longer makes the next one late, not double."""
        assert self.interval_s is not None
        clock = asyncio.get_running_loop().time
        due_s = clock()
        while True:
            await self.sweep(target, read, timeout_s)
            due_s = max(due_s + self.interval_s, clock())
            await asyncio.sleep(due_s - clock())


def reporter(source: str, args: argparse.Namespace, outlet: Outlet, interval_s: float | None) -> Reporter:
    """What the options say of the process."""
    instance = f":{args.instance}" if getattr(args, "instance", None) else ""
    return Reporter(
        outlet=outlet,
        source=source,
        collector=f"{source}@{socket.gethostname()}{instance}",
        cluster=kafka_settings().cluster,
        interval_s=interval_s,
    )


class Aside:
    """Blocking reads of one target, in threads that no exit waits for. While one hangs no other is begun."""

    def __init__(self) -> None:
        self._call: asyncio.Future[Any] | None = None

    async def __call__(self, work: Callable[[], T]) -> T:
        """The result, or what `work` raised. Raises `TimeoutError` while an earlier read still hangs."""
        if self._call is not None and not self._call.done():
            raise TimeoutError("an earlier read of it still hangs in the kernel")
        call = apart("lockstep-read", work)
        # What comes after a time-out is nobody's any more.
        call.add_done_callback(lambda late: late.cancelled() or late.exception())
        self._call = call
        return await asyncio.shield(call)


def said(why: BaseException) -> str:
    """The system's words where it has some."""
    if isinstance(why, OSError) and why.strerror:
        return f"{why.filename}: {why.strerror}" if why.filename else why.strerror
    return str(why) or type(why).__name__
