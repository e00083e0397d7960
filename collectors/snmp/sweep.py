"""One switch: learn what it has, then read it again and again; a scrape, its links and a beat a sweep."""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from msgspec.structs import replace

from collectors.contract.fabric import Link, PortScrape
from collectors.fabric.cables import Cables
from collectors.snmp import neighbours
from collectors.snmp.agent import LEAST_VARBINDS, Agent, AgentError
from collectors.snmp.ber import BerError
from collectors.snmp.fill import fill
from collectors.snmp.layout import Layout, columns_to_learn, heard, learn
from collectors.snmp.mib import IF_NUMBER, IF_TABLE_LAST_CHANGE, UPTIME
from collectors.snmp.pdu import TOO_BIG
from collectors.snmp.plan import Asked, plan
from collectors.snmp.target import Target
from collectors.snmp.uptime import Uptime
from collectors.snmp.value import Value

AT_ONCE = 2
"""Questions on their way to one agent: most are one thread, and each question waits for the one before it."""
LEARN_AGAIN_S = 60.0
"""Least time between two walks for a table that says it changed: on some agents it changes all the time."""
FORGET_S = 3600.0
"""Everything is learned anew so often, for what no agent tells."""


class Moved(Exception):
    """While it was read, the agent began anew or its ports changed places."""


@dataclass(frozen=True, slots=True)
class Swept:
    """One sweep's messages. `error`: what could not be read, in words; the rest is good."""

    scrape: PortScrape
    links: list[Link]
    samples: int
    error: str | None = None


class Switch:
    """Holds what was learned of one agent."""

    def __init__(
        self,
        target: Target,
        agent: Agent,
        *,
        cluster: str,
        interval_us: int,
        keep_ignored: bool = False,
        gate: AbstractAsyncContextManager[object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.target = target
        self.agent = agent
        self._cluster = cluster
        self._interval_us = interval_us
        self._keep_ignored = keep_ignored
        self._gate = gate or nullcontext()
        self._clock = clock
        self._now_us = now_us
        self._uptime = Uptime()
        self.layout: Layout | None = None
        """What was learned; None before the first sweep."""
        self._state: tuple[Value, Value] = (None, None)
        self._stale = False
        self._learned_s = self._slow_s = float("-inf")
        self._plans: dict[tuple[int, bool], list[Asked]] = {}
        self._broken: dict[Asked, str] = {}
        self._cables = Cables()

    async def sweep(self) -> Swept:
        """Raises `AgentError` where nothing can be published."""
        for _ in range(2):
            try:
                return await self._sweep()
            except Moved:
                self.layout = None
        raise AgentError("ports changed their numbers twice while they were read")

    async def _sweep(self) -> Swept:
        state = await self._status()
        # Who does not answer waits outside, and keeps nobody waiting.
        async with self._gate:
            return await self._whole(state)

    async def _whole(self, state: tuple[Value, Value]) -> Swept:
        layout = await self._known(state)
        ts_us = self._now_us()
        slow = self._clock() - self._slow_s >= self.target.preset.every_s
        stamp = (ts_us * 1000, layout.grid.round)
        asked = [*self._plan(layout, slow=False), *(self._plan(layout, slow=True) if slow else ())]
        count, error = await self._read(layout, asked, stamp)
        if layout.moved:
            raise Moved
        if not count or (error is not None and layout.known < len(layout.names)):
            # Without their names nothing tells whose counters these are.
            raise AgentError(error or "the agent answers with nothing")
        gone = _gone(layout, asked, stamp)
        if error is None:
            await self._status()
            error = await self._missing(layout, gone, stamp)
        self._blank(layout, gone, stamp)
        links: list[Link] = []
        if slow and error is None:
            links, error = await self._links(layout, ts_us)
            self._slow_s = self._clock()
        scrape = layout.grid.cut(self.target.name, ts_us, cluster=self._cluster)
        errors = {**scrape.errors, **self.agent.odd, **({} if error is None else {"sweep": error})}
        return Swept(replace(scrape, epoch=self._uptime.epoch, errors=errors), links, count, error)

    async def _status(self) -> tuple[Value, Value]:
        """Whether interfaces came or went, as the agent tells it. Raises `Moved` when it began anew."""
        uptime, number, changed = (v.value for v in await self.agent.get((UPTIME, IF_NUMBER, IF_TABLE_LAST_CHANGE)))
        if not isinstance(uptime, int):
            raise AgentError("the agent does not tell sysUpTime; its view leaves out 1.3.6.1.2.1.1")
        if self._uptime.hear(uptime, self._clock(), self._now_us()):
            raise Moved
        return number, changed

    async def _known(self, state: tuple[Value, Value]) -> Layout:
        age_s = self._clock() - self._learned_s
        changed = (self._stale or state != self._state) and age_s >= LEARN_AGAIN_S
        if self.layout is None or changed or age_s >= FORGET_S:
            preset = self.target.preset
            # What was few at once may have been one bad day; the walk finds out anew, and loses nothing by it.
            self.agent.varbinds = self.agent.most
            self.agent.odd.clear()
            tables = await self.agent.walk(columns_to_learn(preset))
            layout = learn(
                tables,
                preset,
                site=self.target.site,
                interval_us=self._interval_us,
                keep_ignored=self._keep_ignored,
            )
            if not layout.cells:
                raise AgentError(_nothing(layout, sum(map(len, tables.values()))))
            self.layout, self._state, self._learned_s = layout, state, self._clock()
            self._slow_s, self._stale = float("-inf"), False
            self._plans.clear()
        return self.layout

    def _plan(self, layout: Layout, *, slow: bool) -> list[Asked]:
        key = (self.agent.varbinds, slow)
        if key not in self._plans:
            self._plans[key] = plan(layout, self.agent.varbinds, slow=slow)
        return self._plans[key]

    async def _read(self, layout: Layout, asked: list[Asked], stamp: tuple[int, int]) -> tuple[int, str | None]:
        """All requests, a few at once. After one without an answer no other is sent: who hangs costs one time-out."""
        waiting = iter(asked)
        count, error = 0, None
        layout.known = 0
        self._broken.clear()

        async def work() -> None:
            nonlocal count, error
            for one in waiting:
                try:
                    count += await self._ask(layout, one, stamp)
                except AgentError as why:
                    error = error or str(why)
                    self.agent.shrink()
                if error is not None or layout.moved:
                    return

        # Names first: who has moved is known before anything of it is believed.
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return count, error

    async def _ask(self, layout: Layout, one: Asked, stamp: tuple[int, int]) -> int:
        answer = await self.agent.ask(one.request)
        if answer.error is not None:
            # Too much at once is asked for by name; a column that the agent cannot read stops no other.
            if answer.status != TOO_BIG or not self.agent.shrink():
                self._broken[one] = f"the agent answers {answer.error}"
            return 0
        try:
            count = fill(answer.raw, answer.start, answer.stop, layout.cells, stamp, lambda v: layout.take(v, stamp))
        except BerError as why:
            raise AgentError(f"an answer that cannot be read: {why}") from why
        if count < one.count:
            self.agent.varbinds = min(self.agent.varbinds, max(LEAST_VARBINDS, count))
        return count

    async def _missing(self, layout: Layout, gone: dict[bytes, Asked], stamp: tuple[int, int]) -> str | None:
        """Ask by name for what did not come: the agent answered fewer, or it is there no more."""
        names = [name for name, one in gone.items() if one not in self._broken]
        try:
            for varbind in await self.agent.get(names):
                layout.take(varbind, stamp)
        except AgentError as why:
            return str(why)
        self._stale = self._stale or any(layout.cells[name].value is None for name in names)
        return next(iter(self._broken.values()), None)

    def _blank(self, layout: Layout, gone: Iterable[bytes], stamp: tuple[int, int]) -> None:
        """What could not be read now is not known: an older value would look like one that stood still."""
        for name in gone:
            if (cell := layout.cells[name]).stamp != stamp:
                layout.grid.put(cell, None, stamp)

    async def _links(self, layout: Layout, ts_us: int) -> tuple[list[Link], str | None]:
        """What changed. Where the neighbours cannot be read now, those that were told stand."""
        if not self.target.preset.neighbours:
            return [], None
        try:
            tables = await self.agent.walk(neighbours.COLUMNS)
        except AgentError as why:
            return [], f"neighbours: {why}"
        return self._cables.changes(self.target.name, ts_us, self._cluster, heard(tables, layout)), None


def _gone(layout: Layout, asked: Iterable[Asked], stamp: tuple[int, int]) -> dict[bytes, Asked]:
    """Instances that a sweep asked for and did not get."""
    find = layout.cells.get
    return {
        name: one
        for one in asked
        for name in one.names
        if (cell := find(name)) is not None and cell.stamp is not stamp and cell.stamp != stamp
    }


def _nothing(layout: Layout, walked: int) -> str:
    if not walked:
        return "the agent shows no interfaces; give this user or community a view of 1.3.6.1.2.1"
    if not layout.ports:
        return "no interface is of a type that the preset reads; add its ifType to `types` of the preset"
    return f"{len(layout.ports)} ports, and none of the counters that the preset reads"
