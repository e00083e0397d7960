"""This host's RDMA devices: one message with all ports, and which GPUs are by each."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collectors.contract.fabric import Link
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.host import boot_epoch, changed, gpu_paths, own_links
from collectors.fabric.pci import near
from collectors.fabric.rows import Device, samples, scrapes
from collectors.fabric.sweeping import Swept
from collectors.infiniband.host_rows import rows
from collectors.infiniband.names import hca_port
from collectors.infiniband.sysfs import Sysfs, Told

GPUS_EVERY_S = 60.0
"""GPUs come when their driver loads, which may be after this collector starts."""


@dataclass(slots=True)
class Host:
    """Reads the tree; remembers which links it told."""

    tree: Sysfs
    node: str
    cluster: str
    gpu_map: Path | None = None
    epoch: str = field(default_factory=boot_epoch)
    keep_ignored: bool = False
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000
    now_s: Callable[[], float] = time.monotonic
    gpus: Callable[[Path | None], dict[str, tuple[str, ...]]] = gpu_paths
    _told: dict[str, Link] = field(default_factory=dict)
    _gpus: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _looked_s: float | None = None

    def read(self) -> Swept:
        """One sweep. Raises `OSError` where there is no tree."""
        told = self.tree.read()
        ts_us = self.now_us()
        swept = Swept(subject=self.node)
        if not told:
            swept.error = "no RDMA device: are the drivers (mlx5_ib, bnxt_re, irdma, efa) loaded?"
            return swept
        device = Device(
            name=self.node,
            kind="hca",
            node=self.node,
            cluster=self.cluster,
            ts_us=ts_us,
            epoch=self.epoch,
            keep_ignored=self.keep_ignored,
        )
        found = scrapes(rows(told), device)
        swept.messages = [(FABRIC_SCRAPES, scrape) for scrape in found]
        swept.samples = sum(map(samples, found))
        swept.messages += [(FABRIC_LINKS, link) for link in changed(self._told, self._links(told, ts_us))]
        return swept

    def _links(self, told: Sequence[Told], ts_us: int) -> dict[str, Link]:
        """Of InfiniBand ports: those of Ethernet are told by the source `nic`, under all of their names."""
        if self._looked_s is None or self.now_s() - self._looked_s >= GPUS_EVERY_S:
            # A driver that is away for a while moves no GPU.
            self._gpus, self._looked_s = self.gpus(self.gpu_map) or self._gpus, self.now_s()
        out: dict[str, Link] = {}
        for one in told:
            tree = one.tree
            layer = next((raw for f, raw in one.values if f.native == "link_layer"), None)
            if tree.number is None or layer != b"InfiniBand" or not tree.pci or not self._gpus:
                continue
            port = hca_port(tree.device, tree.number)
            out |= own_links(
                (),
                port=port,
                near=near(tree.pci, self._gpus),
                node=self.node,
                kind="hca",
                ts_us=ts_us,
                cluster=self.cluster,
            )
        return out
