"""Parts that stand where others stood: a GPU in the slot of another, the ports that a port was split into or joined to.

Missing data clears nothing, but who reports in the place of another does: the old one will not come back there.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from streams.contract import Finding

MOST_SLOTS = 256
LEAST_LANES = 2
"""A port is split into so many at least."""
_MEDIUM = re.compile(r"^(?:et|xe|ge)-")
"""Junos names a port by its speed: `et-0/0/8` is split into `xe-0/0/8:0` to `:3`."""
_LANE = re.compile(r"^(.*\d)(?:/|:|s)\d+$")
"""`Ethernet1/8/1` (NX-OS, OpenConfig), `et-0/0/8:0` (Junos), `swp8s0` (Cumulus). A dot is a logical interface."""


@dataclass(slots=True)
class Slots:
    """Which GPU was seen in which slot of a node while something was wrong there."""

    at: dict[str, str] = field(default_factory=dict)
    """PCI address -> UUID."""

    def heirs(self, scrape: GpuScrape, known: Iterable[Finding]) -> dict[str, str]:
        """UUID of a GPU that is gone -> the GPU in its slot. `known`: findings that name GPUs, after a restart too."""
        here = {gpu.uuid for gpu in scrape.gpus}
        now = {gpu.pci: gpu.uuid for gpu in scrape.gpus if gpu.pci is not None}
        was = [(f.subject.gpu_uuid, f.subject.pci) for f in known] + [(uuid, pci) for pci, uuid in self.at.items()]
        if len(self.at) > MOST_SLOTS:
            self.at.clear()
        self.at.update(now)
        return {uuid: now[pci] for uuid, pci in was if uuid is not None and uuid not in here and pci in now}


def heirs_of_ports(scrape: PortScrape, ports: Iterable[str]) -> dict[str, str]:
    """Port that is gone -> the ports it was split into or joined to, in words. Those must tell of themselves."""
    names = {port.name for port in scrape.ports}
    gone = [port for port in ports if port not in names]
    if not gone:
        return {}
    telling = set(_telling(scrape))
    by_plain = {_plain(name): name for name in telling}
    lanes: dict[str, list[str]] = {}
    for name in telling:
        if (whole := _whole(name)) is not None:
            lanes.setdefault(whole, []).append(name)
    found: dict[str, str] = {}
    for port in gone:
        own, whole = lanes.get(_plain(port), []), _whole(port)
        if len(own) >= LEAST_LANES:
            found[port] = ", ".join(sorted(own))
        elif whole is not None and whole in by_plain:
            found[port] = by_plain[whole]
    return found


def _telling(scrape: PortScrape) -> Iterator[str]:
    for row, port in enumerate(scrape.ports):
        if port.oper_up is not None or any(row < len(c) and c[row] is not None for c in scrape.columns.values()):
            yield port.name


def _plain(port: str) -> str:
    return _MEDIUM.sub("", port)


def _whole(port: str) -> str | None:
    """The port that this one would be a lane of."""
    found = _LANE.match(_plain(port))
    return found[1] if found else None
