"""This host's RDMA devices: one message with all ports, and which GPUs are by each."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.host import NearGpus, OwnPort, boot_epoch
from collectors.fabric.rows import Device, samples, scrapes
from collectors.fabric.sweeping import Swept
from collectors.infiniband.host_rows import rows
from collectors.infiniband.names import hca_port
from collectors.infiniband.sysfs import Sysfs, Told


@dataclass(slots=True)
class Host:
    """Reads the tree."""

    tree: Sysfs
    gpus: NearGpus
    node: str
    cluster: str
    epoch: str = field(default_factory=boot_epoch)
    keep_ignored: bool = False
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000

    def read(self) -> Swept:
        """One sweep. Raises `OSError` where there is no tree."""
        before = self.tree.bytes
        told = self.tree.read()
        ts_us = self.now_us()
        swept = Swept(subject=self.node, bytes=self.tree.bytes - before)
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
        swept.messages += [(FABRIC_LINKS, link) for link in self.gpus.news(_ports(told), ts_us)]
        return swept


def _ports(told: Sequence[Told]) -> list[OwnPort]:
    """Those of InfiniBand: those of Ethernet are told by the source `nic`, under all of their names."""
    out = []
    for one in told:
        layer = next((raw for file, raw in one.values if file.native == "link_layer"), None)
        if one.tree.number is not None and layer == b"InfiniBand":
            out.append(OwnPort(hca_port(one.tree.device, one.tree.number), (), one.tree.pci))
    return out
