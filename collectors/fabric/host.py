"""What a host says of its own NICs: the GPUs by each, as links of the NIC's names to the NIC."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from collectors.contract.fabric import Link
from collectors.fabric.kept import text_of
from collectors.fabric.pci import PCI_DEVICES, Near, near, pci_path
from collectors.kernel.gpus import DRIVER_FOLDER, read_gpus
from collectors.links.told import changes

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
GPUS_EVERY_S = 60.0
"""GPUs come when their driver loads, which may be after a collector starts."""


def gpu_paths(gpu_map: Path | None, devices: Path = PCI_DEVICES) -> dict[str, tuple[str, ...]]:
    """UUID -> PCI path, of every GPU that the driver (or a map that names UUIDs and addresses) knows here."""
    try:
        known = read_gpus(gpu_map or DRIVER_FOLDER)
    except OSError:
        return {}
    found = {uuid: pci_path(devices / f"{address}.0") for address, uuid in known.items()}
    return {uuid: path for uuid, path in found.items() if path}


@dataclass(frozen=True, slots=True)
class OwnPort:
    """A port of this host, every name that a cable may call it by, and where it sits."""

    name: str
    names: tuple[str, ...]
    pci: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class NearGpus:
    """Tells which GPUs are by which port: as links of the port's names to the port, when they change."""

    node: str
    cluster: str
    kind: Literal["nic", "hca"]
    gpu_map: Path | None = None
    read: Callable[[Path | None], dict[str, tuple[str, ...]]] = gpu_paths
    now_s: Callable[[], float] = time.monotonic
    _told: dict[str, Link] = field(default_factory=dict)
    _gpus: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _looked_s: float | None = None

    def news(self, ports: Iterable[OwnPort], ts_us: int) -> list[Link]:
        """What is new since the last call. Nothing is said while no GPU is known."""
        if self._looked_s is None or self.now_s() - self._looked_s >= GPUS_EVERY_S:
            # A driver that is away for a while moves no GPU.
            self._gpus, self._looked_s = self.read(self.gpu_map) or self._gpus, self.now_s()
        found: dict[str, Link] = {}
        for port in ports if self._gpus else ():
            if port.pci:
                found |= self._links(port, near(port.pci, self._gpus), ts_us)
        return changed(self._told, found)

    def _links(self, port: OwnPort, by: Near, ts_us: int) -> dict[str, Link]:
        """One link a name, by key. Both its ends are on the host."""
        return {
            f"{self.cluster}/{self.node}/{name}": Link(
                cluster=self.cluster,
                ts_us=ts_us,
                device=self.node,
                port=name,
                far_device=self.node,
                far_port=port.name,
                far_kind=self.kind,
                node=self.node,
                gpu_uuids=list(by.gpus),
                source="inventory",
            )
            for name in dict.fromkeys((port.name, *port.names))
        }


def changed(told: dict[str, Link], found: Mapping[str, Link], *, whole: bool = True) -> list[Link]:
    """The links that say something new; `told` is brought up to date. One that left is told as down.

    Not `whole`: what is missing was perhaps not asked, and is no news.
    """
    if not whole:
        found = {key: link for key, link in told.items() if link.up} | dict(found)
    newest = max((link.ts_us for link in found.values()), default=0)
    news = dict(changes(told, found, newest))
    told.update(news)
    return list(news.values())


def boot_epoch(path: Path = BOOT_ID) -> str:
    """A restart marker of the host's counters."""
    boot = text_of(path)
    return "" if boot is None else f"boot:{boot[:8]}"
