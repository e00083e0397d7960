"""The parts that a finding is about, and the parts whose faults could bring it about."""

from dataclasses import dataclass

from streams import pause
from streams.contract import Finding
from streams.placements import Named
from streams.world import World

NVLINK = frozenset({"nvlink_down", "nvlink_failed", "nvlink_errors", "xid_74", *(f"xid_{n}" for n in range(144, 151))})
"""What a GPU shows of an NVLink. All NVSwitches of a node are one fabric: what is fatal to one stops it whole, is
told of it by the kernel (by PCI address) and by DCGM (by number), and shows at the GPUs behind it (Fabric Manager
user guide, appendix on SXids)."""
_OF_NVSWITCHES = frozenset({"xid", "gpu_link"})
"""Detectors whose devices are NVSwitches."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Names of the form `kind:cluster/id`. `own`: the finding's part under all its names.

    `upstream`: what it depends on, its own part included. A GPU carries its rank, a cable the ranks behind it, a
    rack its nodes, `nvlink:cluster/node` the NVLinks inside a node. `reach`: what it spoils beyond its own part: a
    paused port holds up all of its switch, a slow rank shows in the counters of its GPU.
    """

    own: frozenset[str]
    upstream: frozenset[str]
    reach: frozenset[str] = frozenset()


def parts_of(finding: Finding, world: World) -> Parts:
    """Work out both from what the world knows now."""
    s, c = finding.subject, finding.cluster
    own: set[str] = {f"{s.kind}:{c}/{s.id}"}
    up: set[str] = set()
    if s.kind == "gpu":
        own |= _gpu(c, finding_gpu(finding, world), s.node, s.pci, world)
    elif s.kind == "port":
        own |= _cable(c, s.device, s.port, world)
        up |= _cable_ends(c, s.device, s.port, world)
    elif s.kind == "device":
        up |= _device(c, s.id, world) | _readers(c, s.id, world)
        if s.node is not None and finding.detector in _OF_NVSWITCHES:
            own.add(f"nvlink:{c}/{s.node}")
    elif s.kind == "node":
        up |= {f"gpu:{c}/{uuid}" for uuid in world.gpus_on_node(c, s.id)} | _readers(c, s.id, world)
        up |= _rack(c, s.id, world)
        if finding.cause == "slow_link":
            up |= _rank(finding, world)  # its network, which a silent or hot node is not about
    elif s.kind == "rank":
        up |= _rank(finding, world)
    elif s.kind == "collector":
        up.add(f"node:{c}/{collector_host(s.id)}")
    if s.kind in ("gpu", "node") and finding.cause in NVLINK:
        up.add(f"nvlink:{c}/{finding_node(finding, world)}")
    if s.kind in ("gpu", "device", "port") and s.node is not None:
        up |= {f"node:{c}/{s.node}"} | _rack(c, s.node, world)
    if s.kind == "gpu":
        place = world.place(c, finding_gpu(finding, world) or "")
        if place is not None:
            up |= {f"node:{c}/{place.node}"} | _rack(c, place.node, world)
    reach = {f"device:{c}/{device}" for device in pause.held_up(finding, world.cables)}
    if s.kind == "rank":
        reach |= _gpu(c, finding_gpu(finding, world), None, None, world)  # its counters show the same slowness
    return Parts(frozenset(own), frozenset(own | up), frozenset(reach))


def finding_gpu(finding: Finding, world: World) -> str | None:
    """The UUID of the GPU a finding is about: as it says, by the PCI address, or by the rank's place."""
    s = finding.subject
    if s.gpu_uuid is not None:
        return s.gpu_uuid
    if s.kind == "gpu" and s.node is not None and s.pci is not None:
        return world.gpu_at(finding.cluster, s.node, s.pci) or (s.id if "/" not in s.id else None)
    if s.kind == "gpu":
        return s.id if "/" not in s.id else None
    if s.kind == "rank" and s.job is not None and s.rank is not None:
        placed = world.rank(finding.cluster, s.job, s.rank)
        return placed.gpu_uuid if placed else None
    return None


def finding_node(finding: Finding, world: World) -> str | None:
    """The host a finding is about; for a port the host behind its cable."""
    s, c = finding.subject, finding.cluster
    if s.kind == "node":
        return s.id
    if s.node is not None:
        return s.node
    uuid = finding_gpu(finding, world)
    place = world.place(c, uuid) if uuid else None
    if place is not None:
        return place.node
    if s.kind == "rank" and s.job is not None and s.rank is not None:
        placed = world.rank(c, s.job, s.rank)
        return placed.node if placed else None
    if s.kind == "port" and s.device is not None and s.port is not None:
        link = world.link(c, s.device, s.port)
        return link.node if link else None
    if s.kind == "device":
        return world.device_node.get(Named(c, s.id))
    return None


def collector_host(collector: str) -> str:
    """The host in `source@host[:instance]`."""
    return collector.partition("@")[2].partition(":")[0]


def _gpu(c: str, uuid: str | None, node: str | None, pci: str | None, world: World) -> set[str]:
    names: set[str] = set()
    if uuid is not None:
        names.add(f"gpu:{c}/{uuid}")
        place = world.place(c, uuid)
        if place is not None:
            node, pci = place.node, place.pci or pci
    if node is not None and pci is not None:
        names.add(f"gpu:{c}/{node}/{pci}")
    return names


def _cable(c: str, device: str | None, port: str | None, world: World) -> set[str]:
    """Both ends: either one may report the fault of one cable."""
    if device is None or port is None:
        return set()
    return {f"port:{c}/{end}" for end in world.cables.ends(c, device, port)}


def _cable_ends(c: str, device: str | None, port: str | None, world: World) -> set[str]:
    """The devices and hosts at both ends of a cable."""
    found = _device(c, device, world)
    for end in world.cables.ends(c, device, port) if device is not None and port is not None else ():
        found |= _device(c, end.partition("/")[0], world)
        link = world.link(c, *end.partition("/")[::2])
        if link is not None and link.node is not None:
            found |= {f"node:{c}/{link.node}"} | _rack(c, link.node, world)
    return found


def _rack(c: str, node: str, world: World) -> set[str]:
    rack = world.states.rack(c, node)
    return {f"rack:{c}/{rack}"} if rack is not None else set()


def _device(c: str, device: str | None, world: World) -> set[str]:
    if device is None:
        return set()
    node = world.device_node.get(Named(c, device))
    return {f"device:{c}/{device}"} | ({f"node:{c}/{node}"} if node else set())


def _readers(c: str, subject: str, world: World) -> set[str]:
    return {f"collector:{c}/{name}" for name in world.collectors.get(Named(c, subject), ())}


def _rank(finding: Finding, world: World) -> set[str]:
    s, c = finding.subject, finding.cluster
    uuid, node = finding_gpu(finding, world), finding_node(finding, world)
    up = _gpu(c, uuid, node, s.pci, world)
    if node is not None:
        up |= {f"node:{c}/{node}"} | _rack(c, node, world)
    for name in world.ports_behind(c, uuid, node):
        up.add(f"port:{c}/{name}")
        device, _, port = name.partition("/")
        up |= _cable(c, device, port, world) | {f"device:{c}/{device}"}
    return up
