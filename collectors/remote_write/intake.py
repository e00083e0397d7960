"""What every way in shares: the series, the targets, and what is told of them once an interval."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from msgspec import Struct

from collectors.contract.beat import Beat
from collectors.contract.gpu import GpuScrape
from collectors.remote_write.pushed import Pushed
from collectors.remote_write.receiver import WAIT_S, Receiver
from collectors.remote_write.series import SeriesBook
from collectors.remote_write.target import Target
from collectors.source import Outlet

SOURCE = "remote-write"
SILENT_INTERVALS = 3.0
"""So many intervals without a sample, and at least `SILENT_S`: the target's beat says so."""
SILENT_S = 90.0
MOST_TOLD = 500


class HeardTarget(Struct, frozen=True, kw_only=True):
    """One target. `scrape` is its last whole one; `gone`: its series ended."""

    name: str
    node: str | None
    age_s: float
    gone: bool
    samples: int
    scrape: GpuScrape | None


class Heard(Struct, frozen=True, kw_only=True):
    """What a receiver says of itself at `/-/heard`; `more` targets are left out."""

    listener: str
    ignored: dict[str, int]
    targets: list[HeardTarget]
    more: int = 0


@dataclass(slots=True)
class Tally:
    """What came since the last beat."""

    samples: int = 0
    bytes: int = 0
    seconds: float = 0.0
    failure: str | None = None
    ignored: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Told:
    messages: int = 0
    samples: int = 0


class Intake:
    """Requests in, messages out; one beat an interval for the listener, and one for each target."""

    def __init__(
        self,
        outlet: Outlet,
        *,
        cluster: str,
        collector: str,
        listen: str,
        interval_s: float | None,
        cluster_label: str | None = None,
        wait_s: float = WAIT_S,
        now_s: Callable[[], float] = time.monotonic,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.book = SeriesBook(cluster_label)
        self.receiver = Receiver(outlet, cluster, wait_s, now_s)
        self._outlet = outlet
        self._cluster = cluster
        self._collector = collector
        self._listen = listen
        self._interval_s = interval_s
        self._now_s = now_s
        self._now_us = now_us
        self._tally = Tally()
        self._tally_all: Counter[str] = Counter()
        self._told: dict[Target, _Told] = {}

    async def take(self, pushed: Pushed, size: int) -> bool:
        """True once Kafka has it."""
        began_s = time.perf_counter()
        taken = await self.receiver.accept(pushed)
        tally = self._tally
        tally.bytes += size
        tally.seconds += time.perf_counter() - began_s
        if taken:
            tally.samples += pushed.samples
        return taken

    def refuse(self, peer: str, body: bytes, why: str) -> None:
        """A body that could not be read."""
        self._tally.bytes += len(body)
        self._outlet.reject(f"{SOURCE}:{peer}", body, why)

    def fail(self, peer: str, why: str) -> None:
        """A request that was not taken, for whatever reason: the next beat says the last one."""
        self._tally.failure = f"{peer}: {why}"

    def beat(self) -> None:
        """Tell of the listener and of every target."""
        tally, self._tally = self._tally, Tally()
        ignored, self.receiver.ignored = self.receiver.ignored, Counter()
        self._tally_all += ignored
        messages = 0
        targets = self.receiver.targets.values()
        self._told = {target: self._told.get(target, _Told()) for target in targets}
        for target, told in self._told.items():
            messages += target.messages - told.messages
            self._beat_of(target, told)
        self._outlet.beat(
            self._beat(
                self._listen,
                ok=tally.failure is None,
                error=tally.failure,
                seconds=tally.seconds,
                samples=tally.samples,
                bytes=tally.bytes,
                messages=messages,
                ignored=dict(ignored),
            )
        )

    def heard(self) -> Heard:
        """What came, for whoever asks."""
        now_s = self._now_s()
        targets = self.receiver.targets.values()
        return Heard(
            listener=self._collector,
            ignored=dict(self._tally_all + self.receiver.ignored),
            targets=[
                HeardTarget(
                    name=target.source.name,
                    node=target.node,
                    age_s=round(now_s - target.heard_s, 1),
                    gone=target.gone,
                    samples=target.samples,
                    scrape=target.last,
                )
                for target in islice(targets, MOST_TOLD)
            ],
            more=max(0, len(targets) - MOST_TOLD),
        )

    def _beat_of(self, target: Target, told: _Told) -> None:
        silent_s = self._now_s() - target.heard_s
        error = None
        if target.gone:
            error = "its series ended: the sender cannot scrape it, or no longer does"
        elif silent_s > max(SILENT_S, SILENT_INTERVALS * (self._interval_s or 0.0)):
            error = f"nothing was pushed for {silent_s:.0f} s"
        self._outlet.beat(
            self._beat(
                target.source.name,
                subject=target.node,
                cluster=target.cluster,
                ok=error is None,
                error=error,
                messages=target.messages - told.messages,
                samples=target.samples - told.samples,
            )
        )
        told.messages, told.samples = target.messages, target.samples

    def _beat(self, name: str, **more: Any) -> Beat:
        return Beat(
            **{
                "cluster": self._cluster,
                "ts_us": self._now_us(),
                "collector": self._collector,
                "source": SOURCE,
                "target": name,
                "interval_s": self._interval_s,
                **more,
            }
        )
