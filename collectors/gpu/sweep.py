"""One host's GPUs, read again and again: a part that hangs costs its own row and a line in the beat."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from collectors.contract.beat import Beat
from collectors.contract.gpu import Gpu
from collectors.contract.topics import GPU_SCRAPES, KERNEL_EVENTS
from collectors.defect import defect
from collectors.gpu.apart import apart
from collectors.gpu.faults import Teller
from collectors.gpu.reading import Fault, GpuReader, GpuTrouble, Part, Reading, Row
from collectors.gpu.scrape import scrape_of, troubles
from collectors.source import Outlet

LOOK_AGAIN_S = 300.0
"""A GPU that is lost may come back after a reset; only a new session would see it."""
Parts = Mapping[str, Part]
Held = Callable[[Gpu], Gpu]
"""Gives a GPU its holders."""
AskHolders = Callable[[], Coroutine[Any, Any, Held]]
"""Ends by itself, in time for the sweep, and raises nothing."""


async def nobody() -> Held:
    """Nothing is told of holders beside what the reader itself found."""
    return lambda gpu: gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What stands in every message."""

    cluster: str
    node: str
    collector: str
    source: str


@dataclass(slots=True)
class _Waiting:
    """A call that runs, since when, and the sweep that it belongs to."""

    call: "asyncio.Future[Reading]"
    since_s: float
    ts_us: int


@dataclass(slots=True)
class _Found:
    """What a sweep brought together."""

    moments: dict[int, list[Row]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    whys: list[str] = field(default_factory=list)
    reopen: str | None = None

    def take(self, reading: Reading) -> None:
        for ts_us, rows in reading.moments.items():
            if rows:
                self.moments.setdefault(ts_us, []).extend(rows)
        self.labels.update(reading.labels)
        self.reopen = self.reopen or reading.reopen
        if reading.why is not None:
            self.whys.append(reading.why)


class GpuSweep:
    """Holds the reader's session, and what was known of each part when it last answered."""

    def __init__(
        self,
        reader: GpuReader,
        outlet: Outlet,
        names: Names,
        *,
        timeout_s: float,
        interval_s: float | None,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        clock_s: Callable[[], float] = time.monotonic,
        deaf: Callable[[], str | None] = lambda: None,
        holders: AskHolders = nobody,
    ) -> None:
        """`deaf`: why the driver's own events are not heard, None where they are."""
        self._reader = reader
        self._outlet = outlet
        self._names = names
        self._teller = Teller(names.cluster, names.node)
        self._timeout_s = timeout_s
        self._interval_s = interval_s
        self._now_us = now_us
        self._clock_s = clock_s
        self._deaf = deaf
        self._holders = holders
        self._opening: tuple[asyncio.Future[Parts], float] | None = None
        self._parts: Parts | None = None
        self._opened_s = 0.0
        self._runs: dict[str, _Waiting] = {}
        self._last: dict[str, Sequence[Gpu]] = {}
        self._seen: dict[str, Gpu] = {}
        self._lost: set[str] = set()

    @property
    def hangs(self) -> bool:
        """Does a call run that has not come back?"""
        return bool(self._runs) or self._opening is not None

    async def run(self) -> int:
        """One sweep; the number of messages. What goes wrong is in the beat, never raised."""
        began_s, ts_us = self._clock_s(), self._now_us()
        found = _Found()
        holders = asyncio.ensure_future(self._holders())
        try:
            why = await self._be_open()
            if why is None:
                await self._ask_all(ts_us, found)
                why = "; ".join(found.whys) or None
            held = await holders
        finally:
            holders.cancel()
        messages = samples = 0
        for moment_us, rows in sorted(found.moments.items()):
            self._publish(moment_us, [replace(row, gpu=held(row.gpu)) for row in rows], found.labels)
            messages += 1
            samples += sum(value is not None for row in rows for value in row.values.values())
        if found.moments:
            newest_us = max(found.moments)
            gone = self._account(newest_us, found.moments[newest_us])
            why = "; ".join(filter(None, (troubles(found.moments[newest_us]), gone, why))) or None
        if found.reopen is not None or (self._lost and self._clock_s() - self._opened_s >= LOOK_AGAIN_S):
            self._drop_session()
        self._beat(self._clock_s() - began_s, messages, samples, why or self._deaf())
        return messages

    async def prime(self) -> str | None:
        """Open; why there is no session. A reader of the moment reads once, to have something to compare with."""
        why = await self._be_open()
        if why is None and not self._reader.keeps_time:
            await self._ask_all(self._now_us(), _Found())
        return why

    def tell(self, fault: Fault) -> None:
        """Publish what the driver told by itself."""
        self._outlet.publish(KERNEL_EVENTS, self._teller.xid(fault))

    async def close(self) -> None:
        """Let go of the library, unless it hangs."""
        if not self.hangs and self._parts is not None:
            await asyncio.wait({apart("gpu-close", self._reader.close)}, timeout=self._timeout_s)

    async def _be_open(self) -> str | None:
        """None: there is a session; else why there is none."""
        if self._parts is not None:
            return None
        if self._opening is None:
            self._opening = apart(f"{self._reader.source}-open", self._reader.open), self._clock_s()
        opening, since_s = self._opening
        await asyncio.wait({opening}, timeout=self._timeout_s)
        if not opening.done():
            return f"{self._reader.target} does not start: no answer for {self._clock_s() - since_s:.0f} s"
        self._opening = None
        try:
            self._parts, self._opened_s = opening.result(), self._clock_s()
        except GpuTrouble as why:
            return str(why)
        except Exception as why:  # noqa: BLE001 (it is opened anew at the next sweep)
            return defect(f"{self._names.source}:{self._reader.target}", why)
        self._last = {}
        return None

    async def _ask_all(self, ts_us: int, found: _Found) -> None:
        """Ask every part that does not hang; one that hung before is not waited for again."""
        assert self._parts is not None
        fresh: set[asyncio.Future[Reading]] = set()
        for name, part in self._parts.items():
            run = self._runs.get(name)
            if run is not None and run.call.done():
                del self._runs[name]
                if self._reader.keeps_time:
                    self._take(name, run, found)
            if name not in self._runs:
                call = apart(f"{self._reader.source}-{name}", lambda part=part: part.ask(ts_us))  # type: ignore[misc]
                self._runs[name] = _Waiting(call, self._clock_s(), ts_us)
                fresh.add(call)
        if fresh:
            await asyncio.wait(fresh, timeout=self._timeout_s)
        for name in self._parts:
            run = self._runs[name]
            if run.call.done():
                del self._runs[name]
            if run.call.done() and (run.ts_us == ts_us or self._reader.keeps_time):
                self._take(name, run, found)
            else:
                # Also where an earlier sweep's answer came just now: it is not one of this moment.
                self._missing(name, ts_us, f"no answer for {self._clock_s() - run.since_s:.0f} s", found)

    def _take(self, name: str, run: _Waiting, found: _Found) -> None:
        try:
            reading = run.call.result()
        except GpuTrouble as why:
            found.whys.append(str(why))
            found.reopen = str(why)
            return
        except Exception as why:  # noqa: BLE001 (a GPU that answers nonsense must not cost the others)
            self._missing(name, run.ts_us, defect(f"{self._names.source}:{name}", why), found)
            return
        for rows in reading.moments.values():
            self._last[name] = [row.gpu for row in rows]
        found.take(reading)

    def _missing(self, name: str, ts_us: int, why: str, found: _Found) -> None:
        """The part's rows as last known, without a value."""
        assert self._parts is not None
        gpus = self._last.get(name) or self._parts[name].gpus()
        if not gpus or self._reader.keeps_time:
            found.whys.append(f"{name}: {why}")
            return
        found.moments.setdefault(ts_us, []).extend(Row(gpu=gpu, trouble=why) for gpu in gpus)

    def _account(self, ts_us: int, rows: Sequence[Row]) -> str | None:
        """Tell of each GPU once that it is lost; a GPU that NVML lists no more stays known as such."""
        here = {row.gpu.uuid: row for row in rows if row.gpu.mig is None}
        for uuid, row in here.items():
            if row.lost and uuid not in self._lost:
                self._tell_lost(row.gpu, ts_us, row.trouble or "lost")
            elif not row.lost and row.trouble is None:
                self._lost.discard(uuid)
                self._seen[uuid] = row.gpu
        gone = [gpu for uuid, gpu in self._seen.items() if uuid not in here]
        for gpu in gone:
            if gpu.uuid not in self._lost:
                self._tell_lost(gpu, ts_us, "the driver lists it no more")
        return f"the driver lists no more: {', '.join(gpu.uuid for gpu in gone)}" if gone else None

    def _tell_lost(self, gpu: Gpu, ts_us: int, why: str) -> None:
        self._lost.add(gpu.uuid)
        self._outlet.publish(KERNEL_EVENTS, self._teller.lost(gpu, ts_us, why))

    def _drop_session(self) -> None:
        """Open anew at the next sweep, unless a call still runs in the old session."""
        if not self._runs:
            self._parts = None

    def _publish(self, ts_us: int, rows: Sequence[Row], labels: Mapping[str, str]) -> None:
        names = self._names
        scrape = scrape_of(
            rows, ts_us=ts_us, cluster=names.cluster, node=names.node, source=self._reader.source, labels=labels
        )
        self._outlet.publish(GPU_SCRAPES, scrape)

    def _beat(self, seconds: float, messages: int, samples: int, why: str | None) -> None:
        self._outlet.beat(
            Beat(
                cluster=self._names.cluster,
                ts_us=self._now_us(),
                collector=self._names.collector,
                source=self._names.source,
                target=self._reader.target,
                subject=self._names.node,
                ok=why is None,
                seconds=round(seconds, 6),
                messages=messages,
                samples=samples,
                interval_s=self._interval_s,
                error=why,
            )
        )
