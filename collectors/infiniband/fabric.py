"""The whole fabric from one host: states and cables by iblinkinfo, counters by two runs of ibqueryerrors."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from msgspec import structs

from collectors.contract.fabric import Link
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.host import changed
from collectors.fabric.rows import Row, samples
from collectors.fabric.sweeping import Swept
from collectors.infiniband.ibqueryerrors import Scan, read_ibqueryerrors
from collectors.infiniband.linkinfo import read_linkinfo
from collectors.infiniband.messages import links, messages
from collectors.infiniband.reading import ALL_PORTS, Reading
from collectors.tool import Output, ToolError

Run = Callable[[list[str]], Awaitable[Output]]

ALWAYS = (
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "PortXmitDiscards",
    "PortXmitConstraintErrors",
    "PortRcvConstraintErrors",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
    "VL15Dropped",
)
"""Counters that every agent keeps (PortCounters is mandatory); ibqueryerrors prints those above the threshold."""
FAILED = ("failed", "timed out", "timeout", "bad status")


@dataclass(slots=True)
class Fabric:
    """Sweeps; remembers the cables it told, and the topology between two looks at it."""

    run: Run
    names: Mapping[str, str]
    cluster: str
    options: tuple[str, ...] = ()
    """For every tool: `-C mlx5_0`."""
    switches_only: bool = False
    topology_every_s: float = 300.0
    keep_ignored: bool = False
    now_s: Callable[[], float] = time.monotonic
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000
    _topology: Reading | None = None
    _looked_s: float = 0.0
    _told: dict[str, Link] = field(default_factory=dict)

    async def sweep(self) -> Swept:
        """Raises `ToolError` where a tool cannot be run or the scan failed."""
        swept = Swept()
        fresh = self._topology is None or self.now_s() - self._looked_s >= self.topology_every_s
        if fresh:
            self._topology = await self._look(swept)
            self._looked_s = self.now_s()
        assert self._topology is not None
        names = {**self.names, **self._topology.names}
        only = ["--switch"] if self.switches_only else []
        data = await self._scan(["ibqueryerrors", "--counters", *only], names, swept)
        errors = await self._scan(["ibqueryerrors", "--threshold-file", "/dev/null", *only], names, swept)
        ts_us = self.now_us()
        whole = partial(joined, self._topology, data, errors, fresh=fresh, sure=swept.error is None)
        found = await asyncio.to_thread(
            lambda: messages(whole(), ts_us=ts_us, cluster=self.cluster, keep_ignored=self.keep_ignored)
        )
        swept.messages += [(FABRIC_SCRAPES, scrape) for scrape in found]
        swept.samples = sum(map(samples, found))
        if fresh and self._topology.cables:
            told = links(self._topology.cables, ts_us=ts_us, cluster=self.cluster)
            news = changed(self._told, told, whole=swept.error is None)
            swept.messages += [(FABRIC_LINKS, link) for link in news]
        return swept

    async def _look(self, swept: Swept) -> Reading:
        output = await self.run(["iblinkinfo", *self.options])
        swept.bytes += len(output.out)
        # Text of a large fabric takes seconds: not in the loop, where other targets wait.
        found = await asyncio.to_thread(read_linkinfo, output.out.decode("utf-8", "replace"), self.names)
        if found.failed is not None:
            raise ToolError(f"iblinkinfo: exit status {output.status}: {output.complaint or found.failed}")
        self._heed(swept, "iblinkinfo", output, found)
        return found

    async def _scan(self, argv: list[str], names: Mapping[str, str], swept: Swept) -> Scan:
        assert self._topology is not None
        output = await self.run([*argv, *self.options])
        swept.bytes += len(output.out)
        text = output.out.decode("utf-8", "replace")
        scan = await asyncio.to_thread(read_ibqueryerrors, text, names, self._topology.switches)
        if scan.failed is not None:
            words = f" ({output.complaint})" if output.complaint else ""
            raise ToolError(f"ibqueryerrors: {scan.failed}{words}")
        self._heed(swept, "ibqueryerrors", output, scan)
        return scan

    def _heed(self, swept: Swept, tool: str, output: Output, reading: Reading) -> None:
        """Partial answers come with complaints on standard error."""
        if any(word in output.err.decode("utf-8", "replace").lower() for word in FAILED):
            swept.error = swept.error or f"a part of the fabric did not answer {tool}: {output.complaint}"
        if reading.unread:
            why, line = reading.unread[0]
            count = len(reading.unread)
            swept.rejects.append((line.encode(), why if count == 1 else f"{count} lines, the first: {why}"))


def joined(topology: Reading, data: Scan, errors: Scan, *, fresh: bool, sure: bool) -> Reading:
    """One reading of all. Of a topology that is not fresh only the speeds are taken, which ports keep.

    `sure`: every port that told its data was asked for its errors and answered. Then, and where no threshold was in
    force, an error that a port was not listed with is zero: the tool prints those above zero.
    """
    whole = Reading()
    for part in (topology, data, errors) if fresh else (data, errors):
        for station, rows in part.stations.items():
            mine = whole.stations.setdefault(station, {})
            for name, row in rows.items():
                if name == ALL_PORTS:
                    continue  # what the ports say, once more
                held = mine.setdefault(name, Row(row.port))
                held.values += row.values
                held.named |= row.named
    if not fresh:
        for station, rows in whole.stations.items():
            known = topology.stations.get(station, {})
            for name, row in rows.items():
                if name in known:
                    row.port = structs.replace(known[name].port, oper_up=None)
    if sure and not errors.filtered:
        for station, rows in data.stations.items():
            _fill(rows, whole.stations[station])
    return whole


def _fill(rows: Mapping[str, Row], told: Mapping[str, Row]) -> None:
    wide = any(system == "ib_pma_ext" and name in ALWAYS for row in told.values() for system, name, _ in row.values)
    for name in rows:
        values = told[name].values
        present = {native for _, native, _ in values}
        values += [("ib_pma_ext" if wide else "ib_pma", native, 0) for native in ALWAYS if native not in present]
