"""This host's NICs: one message with all interfaces, and which GPUs are by each."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.host import NearGpus, OwnPort, boot_epoch
from collectors.fabric.kept import Kept
from collectors.fabric.rows import Device, Row, samples, scrapes
from collectors.fabric.sweeping import Swept
from collectors.nic.ethtool import Statistics
from collectors.nic.interfaces import Interface, indices, listed
from collectors.nic.rows import row

STATISTIC_BYTES = 8
"""A driver tells each of its statistics as a u64 (ETHTOOL_GSTATS)."""


@dataclass(slots=True)
class Nics:
    """Reads interfaces, listed anew when one comes or goes."""

    node: str
    cluster: str
    root: Path
    statistics: Callable[[str], Statistics]
    gpus: NearGpus
    patterns: list[str] = field(default_factory=list)
    lossless: tuple[int, ...] | None = None
    epoch: str = field(default_factory=boot_epoch)
    keep_ignored: bool = False
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000
    forget: Callable[[str], None] = lambda _: None
    _kept: Kept = field(default_factory=Kept)
    _seen: list[tuple[str, str | None]] = field(default_factory=list)
    _interfaces: list[Interface] = field(default_factory=list)

    def read(self) -> Swept:
        """One sweep."""
        self._list()
        swept = Swept(subject=self.node)
        if not self._interfaces:
            told = ", ".join(name for name, _ in indices(self.root)) or "none"
            wanted = f"that matches {' '.join(self.patterns)}" if self.patterns else "that hangs on a device"
            swept.error = f"no interface {wanted}; there are {told}; see --interface"
            return swept
        before = self._kept.bytes
        rows = [self._row(one, swept) for one in self._interfaces]
        swept.bytes += self._kept.bytes - before
        ts_us = self.now_us()
        device = Device(
            name=self.node,
            kind="nic",
            node=self.node,
            cluster=self.cluster,
            ts_us=ts_us,
            epoch=self.epoch,
            keep_ignored=self.keep_ignored,
        )
        found = scrapes(rows, device)
        swept.messages = [(FABRIC_SCRAPES, scrape) for scrape in found]
        swept.samples = sum(map(samples, found))
        swept.messages += [(FABRIC_LINKS, link) for link in self.gpus.news(self._ports(), ts_us)]
        return swept

    def _list(self) -> None:
        seen = indices(self.root)
        if seen != self._seen or self._kept.gone:
            self._kept.close()
            self._kept.gone = False
            for one in self._interfaces:
                self.forget(one.name)
            self._interfaces = listed(self.root, self.patterns)
            self._seen = seen

    def _row(self, one: Interface, swept: Swept) -> Row:
        """A driver without statistics is no failure: the kernel's own counters stand beside."""
        told: list[tuple[str, int]] = []
        try:
            found = self.statistics(one.name)
            swept.bytes += STATISTIC_BYTES * len(found.values)
            told = list(zip(found.names, found.values, strict=True))
        except OSError as why:
            if one.driver is not None:
                swept.error = swept.error or f"{one.name}: no driver statistics: {why.strerror or why}"
        return row(one, told, [(f, self._kept.read(f.path)) for f in one.files], self.lossless)

    def _ports(self) -> list[OwnPort]:
        """InfiniBand ports are told by the source `infiniband`."""
        return [
            OwnPort(one.name, (*one.rdma, *([one.mac] if one.mac else ())), one.pci)
            for one in self._interfaces
            if one.link_layer == "ethernet"
        ]
