"""Who is cabled to whom, merged from what files and inventories say and what LLDP sees."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from msgspec import structs

from collectors.contract.fabric import Link
from streams.hosts import Host, Hosts, label, same_name

At = tuple[str, str]
"""Cluster and name."""


@dataclass(frozen=True, slots=True)
class Cable:
    """What a port is plugged into. `planned`: what the file says where LLDP sees another far end."""

    link: Link
    planned: Link | None = None


def merge(told: Collection[Link]) -> Cable | None:
    """One answer from the newest statement of each source about one port; None: nothing is plugged in.

    A file knows the host, its GPUs and the rail; LLDP knows whether the neighbour is heard and which it is.
    Where they name different far ends the cable was moved: LLDP is right while it hears that neighbour, and
    afterwards until the file is written anew.
    """
    planned = max(
        (link for link in told if link.source != "lldp" and link.up),
        key=lambda link: (link.ts_us, link.source == "file"),
        default=None,
    )
    seen = next((link for link in told if link.source == "lldp"), None)
    if seen is None or planned is None:
        only = seen or planned
        return None if only is None else Cable(only)
    if _same_end(planned, seen):
        return Cable(structs.replace(planned, up=seen.up, far_port=_far_port(planned, seen)))
    if seen.up or seen.ts_us > planned.ts_us:
        return Cable(seen, planned)
    return Cable(planned)


def is_own(link: Link) -> bool:
    """A host's own word on one of its NICs, which is no cable: both ends are on the host."""
    return link.node is not None and link.device == link.node


def _same_end(planned: Link, seen: Link) -> bool:
    if planned.node is not None and (planned.node == seen.node or same_name(planned.node, seen.far_device)):
        return True
    return same_name(planned.far_device, seen.far_device)


def _far_port(planned: Link, seen: Link) -> str | None:
    """A switch names its ports by LLDP as everywhere; a host may say a MAC address where the file has a name."""
    if planned.node is not None or planned.far_kind in ("nic", "hca"):
        return planned.far_port or seen.far_port
    return seen.far_port or planned.far_port


@dataclass(slots=True)
class Cables:
    """Learns links, names and GPUs in any order. Each method that learns says whether an answer changed."""

    _cables: dict[At, Cable] = field(default_factory=dict)
    """By `device/port`."""
    _told: dict[At, dict[str, Link]] = field(default_factory=dict)
    """Port -> source -> its newest statement."""
    _hosts: Hosts = field(default_factory=Hosts)
    _gpus: dict[At, dict[int, str]] = field(default_factory=dict)
    """Node -> index -> UUID."""
    _facing: dict[At, set[str]] = field(default_factory=dict)
    """Label of a far end -> ports whose answer may change when a host of that label becomes known."""
    _of_gpu: dict[At, set[str]] = field(default_factory=dict)
    _of_node: dict[At, set[str]] = field(default_factory=dict)
    _of_device: dict[At, set[str]] = field(default_factory=dict)
    _of_far: dict[At, set[str]] = field(default_factory=dict)
    """Far end as `device/port` -> ports whose cable ends there."""
    _of_far_device: dict[At, set[str]] = field(default_factory=dict)
    _nics: dict[At, dict[str, Link]] = field(default_factory=dict)
    """Node -> any name of a NIC of it, in lower case -> what the node says of that NIC."""

    def learn(self, link: Link) -> bool:
        """Take in one statement; of one source and port the newest counts."""
        port = f"{link.device}/{link.port}"
        told = self._told.setdefault((link.cluster, port), {})
        known = told.get(link.source)
        if known is not None and known.ts_us > link.ts_us:
            return False
        told[link.source] = link
        for far in {link.far_device, link.node or link.far_device}:
            self._facing.setdefault((link.cluster, label(far)), set()).add(port)
        changed = self._settle(link.cluster, port)
        if is_own(link):
            return self._own(link) or changed
        return self.name(link.cluster, Host(link.device, "switch")) or changed

    def _own(self, link: Link) -> bool:
        """A node tells a name of one of its NICs: cables that end in that NIC know its GPUs."""
        nics = self._nics.setdefault((link.cluster, link.device), {})
        nics[link.port.lower()] = link
        changed = self.name(link.cluster, Host(link.device, "nic", link.node))
        return (
            any([self._settle(link.cluster, port) for port in list(self.of_node(link.cluster, link.device))]) or changed
        )

    def name(self, cluster: str, host: Host) -> bool:
        """A node, NIC or switch is known by this name."""
        if not self._hosts.add(cluster, host):
            return False
        facing = self._facing.get((cluster, label(host.name)), ())
        return any([self._settle(cluster, port) for port in facing])

    def gpus(self, cluster: str, node: str, by_index: Mapping[int, str]) -> bool:
        """Which GPUs a node has now."""
        self._gpus[(cluster, node)] = dict(by_index)
        return any([self._settle(cluster, port) for port in list(self.of_node(cluster, node))])

    def at(self, cluster: str, port: str) -> Cable | None:
        """What `device/port` is plugged into."""
        return self._cables.get((cluster, port))

    def of_gpu(self, cluster: str, uuid: str) -> set[str]:
        """Ports whose cable names this GPU."""
        return self._of_gpu.get((cluster, uuid), set())

    def of_node(self, cluster: str, node: str) -> set[str]:
        """Ports whose cable ends in this node."""
        return self._of_node.get((cluster, node), set())

    def ends(self, cluster: str, device: str, port: str) -> set[str]:
        """`device/port` of both ends of a cable, whichever end told of it, under all names of theirs."""
        own = f"{device}/{port}"
        found = {own} | self._of_far.get((cluster, own), set())
        cable = self.at(cluster, own)
        if cable is not None and cable.link.far_port is not None:
            far = f"{cable.link.far_device}/{cable.link.far_port}"
            found |= {far} | self._of_far.get((cluster, far), set())
        return found

    def ports_of(self, cluster: str, device: str) -> set[str]:
        """Ports of a device of which a cable is known from its own side."""
        return self._of_device.get((cluster, device), set())

    def peers(self, cluster: str, device: str) -> set[str]:
        """Switches cabled to a switch, whichever end told of it."""
        links = (self._cables[(cluster, port)].link for port in self.ports_of(cluster, device))
        return {link.far_device for link in links if link.far_kind == "switch"} | self._told_of(cluster, device)

    def hosts_over(self, cluster: str, device: str) -> set[str]:
        """Hosts on a switch, or on its peers where it has none itself."""
        own = self.nodes_below(cluster, device)
        return own or set().union(*(self.nodes_below(cluster, peer) for peer in self.peers(cluster, device)))

    def _told_of(self, cluster: str, device: str) -> set[str]:
        ports = self._of_far_device.get((cluster, device), ())
        return {port.partition("/")[0] for port in ports if self._cables[(cluster, port)].link.far_kind == "switch"}

    def rails(self, cluster: str, device: str) -> set[int]:
        """Rails of the host-facing ports of a switch; empty where the fabric has none, or nobody told."""
        links = (self._cables[(cluster, port)].link for port in self.ports_of(cluster, device))
        return {link.rail for link in links if link.rail is not None and link.node is not None}

    def uplinks(self, cluster: str, device: str) -> int:
        """Cables from a switch that has hosts to other switches."""
        if not self.nodes_below(cluster, device):
            return 0
        ports = self.ports_of(cluster, device)
        own = sum(self._cables[(cluster, port)].link.far_kind == "switch" for port in ports)
        return max(own, len(self.cables_at(cluster, device) - ports))

    def cables_at(self, cluster: str, device: str) -> set[str]:
        """`device/port` of cables that end at a device, by whichever end told of them."""
        return self.ports_of(cluster, device) | self._of_far_device.get((cluster, device), set())

    def nodes_below(self, cluster: str, device: str) -> set[str]:
        """Nodes cabled to a switch directly."""
        links = (self._cables[(cluster, port)].link for port in self._of_device.get((cluster, device), ()))
        return {link.node for link in links if link.node is not None}

    def _settle(self, cluster: str, port: str) -> bool:
        """Work out one port's answer again."""
        former = self._cables.pop((cluster, port), None)
        if former is not None:
            for index in self._indexed(former.link):
                index.discard(port)
        cable = merge([self._resolved(link) for link in self._told[(cluster, port)].values()])
        if cable is not None:
            self._cables[(cluster, port)] = cable
            for index in self._indexed(cable.link):
                index.add(port)
        return _apart_from_time(former) != _apart_from_time(cable)

    def _indexed(self, link: Link) -> list[set[str]]:
        found = [self._of_device.setdefault((link.cluster, link.device), set())]
        found.append(self._of_far_device.setdefault((link.cluster, link.far_device), set()))
        if link.far_port is not None:
            far = f"{link.far_device}/{link.far_port}"
            found.append(self._of_far.setdefault((link.cluster, far), set()))
        if link.node is not None:
            found.append(self._of_node.setdefault((link.cluster, link.node), set()))
        return found + [self._of_gpu.setdefault((link.cluster, uuid), set()) for uuid in link.gpu_uuids]

    def _resolved(self, link: Link) -> Link:
        """With its far end as the fleet calls it, and the GPUs by UUID."""
        found = self._hosts.find(link.cluster, link.node or link.far_device)
        if found is not None and found.kind == "switch" and link.node is None:
            link = structs.replace(link, far_device=found.name, far_kind="switch")
        elif found is not None and found.node is not None and link.far_kind != "switch":
            link = structs.replace(link, node=found.node, far_kind="hca" if link.far_kind == "hca" else "nic")
        nic = (
            None
            if is_own(link)
            else self._nics.get((link.cluster, link.node or ""), {}).get((link.far_port or "").lower())
        )
        if nic is not None and nic.up:
            uuids = nic.gpu_uuids if not link.gpu_uuids and not link.gpu_index else link.gpu_uuids
            link = structs.replace(link, far_device=nic.device, far_port=nic.far_port, gpu_uuids=uuids)
        if link.gpu_index and not link.gpu_uuids and link.node is not None:
            here = self._gpus.get((link.cluster, link.node), {})
            link = structs.replace(link, gpu_uuids=[here[i] for i in link.gpu_index if i in here])
        return link


def _apart_from_time(cable: Cable | None) -> tuple[Link | None, Link | None]:
    if cable is None:
        return None, None
    planned = None if cable.planned is None else structs.replace(cable.planned, ts_us=0)
    return structs.replace(cable.link, ts_us=0), planned
