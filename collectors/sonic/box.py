"""One switch, read by its redis again and again: a scrape, the cables that changed, and a beat each sweep."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from collectors.contract.beat import Beat
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.defect import defect
from collectors.fabric.cables import Cables
from collectors.fabric.grid import Grid
from collectors.fabric.series import Site
from collectors.sonic.database import Database, DatabaseError
from collectors.sonic.learn import Learned, field_names, learn
from collectors.sonic.plan import Plan, hashes, plan
from collectors.sonic.target import RedisTarget
from collectors.source import Outlet

LEARN_AGAIN_S = 60.0
"""Fields appear when a counter is switched on, and ports when one is split: the names are read anew so often."""
CLOCK_TOLERANCE_US = 300_000_000
NO_PORTS = (
    "COUNTERS_PORT_NAME_MAP in database 2 is empty: no SONiC switch, or swss is not up yet; "
    "`sonic-db-cli COUNTERS_DB HGETALL COUNTERS_PORT_NAME_MAP` on the switch shows the same"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """What every switch of the process shares."""

    outlet: Outlet
    collector: str
    cluster: str
    interval_s: float
    site: Site = field(default_factory=Site)
    keep_ignored: bool = False
    login: tuple[str, ...] = ()


class Box:
    """Holds the connection, the name maps and the plan of one switch."""

    def __init__(
        self,
        target: RedisTarget,
        reporting: Reporting,
        *,
        timeout_s: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.target = target
        self._reporting = reporting
        self._clock = clock
        self._now_us = now_us
        self._database = Database(target.address, timeout_s=timeout_s)
        self._grid = self._new_grid()
        self._cables = Cables()
        self._connected = False
        self._plan: Plan | None = None
        self._learned: Learned | None = None
        self._learned_at = 0.0
        self._emptied_us: int | None = None
        self._baseline = True
        self._lost = False
        """The counters were not there at the last look."""

    @property
    def device(self) -> str:
        """How messages call it: as it was named, else its own host name, else its address."""
        told = None if self._learned is None else self._learned.hostname
        return self.target.name or told or self.target.address.host or str(self.target.address)

    async def sweep(self) -> int:
        """Read once; what goes wrong is in the beat. Returns the number of messages."""
        began, messages, samples, error = self._clock(), 0, 0, None
        before = self._database.bytes
        try:
            messages, samples = await self._read()
        except DatabaseError as why:
            error = str(why)
            await self.close()
        except Exception as why:  # noqa: BLE001 (other switches go on, and this one from its name maps)
            error = defect(f"sonic:{self.target.address}", why)
            self._plan = None
            await self.close()
        self._reporting.outlet.beat(
            Beat(
                cluster=self._reporting.cluster,
                ts_us=self._now_us(),
                collector=self._reporting.collector,
                source="sonic",
                target=str(self.target.address),
                subject=self.device if self._learned is not None or self.target.name else None,
                ok=error is None,
                seconds=self._clock() - began,
                messages=messages,
                samples=samples,
                bytes=self._database.bytes - before,
                interval_s=self._reporting.interval_s,
                error=error,
            )
        )
        return messages

    async def close(self) -> None:
        """Drop the connection."""
        self._connected = False
        await self._database.close()

    async def _read(self) -> tuple[int, int]:
        if not self._connected or self._plan is None or self._clock() - self._learned_at >= LEARN_AGAIN_S:
            await self._learn()
        if self._plan is None:
            raise DatabaseError("the name maps were lost")
        grid = self._grid
        now_us = self._now_us()
        replies = await self._database.ask(self._plan.request, self._plan.replies)
        ts_us = self._time(replies[0], now_us)
        taken = self._plan.take(replies, grid, (ts_us * 1000, grid.round))
        if taken.gone:
            self._plan = None
            if self._learned is not None and taken.gone >= len(self._learned.ports):
                self._lost = True
                raise DatabaseError("all counters are gone from COUNTERS_DB: it was emptied, swss may restart")
        outlet, cluster = self._reporting.outlet, self._reporting.cluster
        scrape = grid.cut(self.device, ts_us, cluster=cluster, baseline=self._baseline)
        outlet.publish(FABRIC_SCRAPES, replace(scrape, epoch=self._epoch()))
        self._baseline = False
        links = self._cables.changes(self.device, ts_us, cluster, taken.heard)
        for link in links:
            outlet.publish(FABRIC_LINKS, link)
        return 1 + len(links), taken.samples

    async def _learn(self) -> None:
        """Name maps, then which fields each object has. Raises `DatabaseError`."""
        if not self._connected:
            await self._database.connect(self._reporting.login)
            self._connected = True
        old = self._learned
        learned = await learn(self._database)
        if not learned.ports:
            self._lost, self._plan = True, None
            raise DatabaseError(NO_PORTS)
        if old is None or learned.run_id != old.run_id:
            self._baseline, self._emptied_us = True, None
        elif self._lost or not set(old.owned) & set(learned.owned):
            self._lost, self._baseline, self._emptied_us = False, True, self._now_us()
        wanted = hashes(learned.owned)
        names = await field_names(self._database, wanted)
        if old is not None and old.owned != learned.owned:
            self._grid = self._new_grid()
        self._plan = plan(
            ((hash_, fields) for hash_, fields in zip(wanted, names, strict=True) if fields),
            learned.ports,
            self._grid,
            learned.polls,
            interval_us=round(self._reporting.interval_s * 1e6),
            keep_ignored=self._reporting.keep_ignored,
        )
        self._learned, self._learned_at = learned, self._clock()

    def _time(self, reply: Any, now_us: int) -> int:
        """The switch's own clock, microseconds; ours where its is far off."""
        if isinstance(reply, Exception):
            raise DatabaseError(f"redis refuses: {reply}")
        try:
            seconds, micros = map(int, reply)
        except (TypeError, ValueError):
            raise DatabaseError(f"no redis speaks there: TIME is {reply!r}"[:200]) from None
        told_us = seconds * 1_000_000 + micros
        if abs(told_us - now_us) <= CLOCK_TOLERANCE_US:
            return told_us
        self._grid.complain("clock", f"device says {told_us} us; time of receipt used")
        return now_us

    def _epoch(self) -> str:
        """Counters live as long as this redis, and begin again when the database is emptied under it."""
        emptied = "" if self._emptied_us is None else f"/emptied:{self._emptied_us}"
        run_id = "" if self._learned is None else self._learned.run_id
        return f"redis:{run_id[:12]}{emptied}"

    def _new_grid(self) -> Grid:
        reporting = self._reporting
        return Grid(
            site=reporting.site,
            interval_us=round(reporting.interval_s * 1e6),
            keep_ignored=reporting.keep_ignored,
        )
