"""What the correlator knows of the fleet: who runs where, who is cabled to whom, which GPU sits at which PCI address.

An in-process view, rebuilt from the compacted topics and recent scrapes; nothing of it is state to keep.
"""

from dataclasses import dataclass, field

from collectors.contract.beat import Beat
from collectors.contract.fabric import Link, Port, PortScrape
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement
from collectors.contract.message import Message
from collectors.contract.node import NodeState
from streams.cables import Cables, is_own
from streams.contract import Order
from streams.gpu_places import GpuPlace, places_of
from streams.health_failures import JobFailures
from streams.hosts import Host
from streams.node_states import NodeStates
from streams.orders import OrderBook
from streams.placements import Named, Placements


@dataclass(slots=True)
class World:
    """Learns from messages in any order; the newest of a kind is true."""

    placements: Placements = field(default_factory=Placements)
    failures: JobFailures = field(default_factory=JobFailures)
    cables: Cables = field(default_factory=Cables)
    states: NodeStates = field(default_factory=NodeStates)
    orders: OrderBook = field(default_factory=OrderBook)
    gpus: dict[Named, GpuPlace] = field(default_factory=dict)
    nodes: dict[Named, int] = field(default_factory=dict)
    """Nodes whose GPUs were seen -> the last time, Unix microseconds."""
    collectors: dict[Named, set[str]] = field(default_factory=dict)
    """Node or device -> the collectors that read it."""
    device_node: dict[Named, str] = field(default_factory=dict)
    """NIC or HCA -> its host."""
    version: int = 0
    """Grows when a placement, cable, order or place changed: what was judged may now be judged better."""
    _at_pci: dict[tuple[str, str, str], str] = field(default_factory=dict)
    _switches: set[Named] = field(default_factory=set)
    _ports_seen: dict[Named, list[Port]] = field(default_factory=dict)
    _gpus_seen: dict[Named, list[Gpu]] = field(default_factory=dict)
    _known: dict[Named, dict[str, GpuPlace]] = field(default_factory=dict)

    def learn(self, message: Message) -> None:
        """Take in one message; kinds that say nothing about the fleet's shape are ignored."""
        if isinstance(message, GpuScrape):
            if not message.part:  # a piece may name some of the GPUs only
                self._scrape(message)
        elif isinstance(message, JobEvent):
            self._job(message)
        elif isinstance(message, Link):
            self.version += self.cables.learn(message)
        elif isinstance(message, Beat):
            if message.subject is not None:
                self.collectors.setdefault(Named(message.cluster, message.subject), set()).add(message.collector)
        elif isinstance(message, PortScrape):
            self._device(message)
        elif isinstance(message, NodeState):
            self.version += self.states.learn(message)
        elif isinstance(message, Order):
            self.version += self.orders.learn(message)

    def gpu_at(self, cluster: str, node: str, pci: str) -> str | None:
        """The UUID of the GPU at a PCI address of a node."""
        return self._at_pci.get((cluster, node, pci))

    def place(self, cluster: str, uuid: str) -> GpuPlace | None:
        """Where a GPU sits."""
        return self.gpus.get(Named(cluster, uuid))

    def rank(self, cluster: str, job: str, rank: int) -> Placement | None:
        """Where a rank runs or last ran."""
        return self.placements.rank(cluster, job, rank)

    def world_size(self, cluster: str, job: str) -> int | None:
        """Ranks of a job; None: its placement is not known."""
        return self.placements.world_size(cluster, job)

    def jobs_on_gpu(self, cluster: str, uuid: str) -> set[str]:
        """Running jobs with a rank on this GPU. Ranks placed on the node without a GPU named count as well."""
        place = self.gpus.get(Named(cluster, uuid))
        if place is None:
            return self.placements.on_gpu(cluster, uuid, None, None, frozenset())
        found = self.placements.on_gpu(cluster, uuid, place.node, place.index, place.holders)
        for mig in place.migs:
            found |= self.placements.on_gpu(cluster, mig, None, None, frozenset())
        return found | self._names(cluster, place.holders)

    def jobs_on_node(self, cluster: str, node: str) -> set[str]:
        """Running jobs with a rank on this node."""
        places = self._known.get(Named(cluster, node), {}).values()
        return self.placements.on_node(cluster, node).union(*(self._names(cluster, place.holders) for place in places))

    def _names(self, cluster: str, holders: frozenset[str]) -> set[str]:
        """Of those that run, by their own names."""
        running = (name for name in holders if not self.placements.has_ended(cluster, name))
        return {self.placements.own_name(cluster, name) for name in running}

    def gpus_on_node(self, cluster: str, node: str) -> set[str]:
        """UUIDs seen on a node."""
        return set(self._known.get(Named(cluster, node), {}))

    def models_on_node(self, cluster: str, node: str) -> set[str]:
        """Models of the GPUs of a node, as its collector names them."""
        return {gpu.model for gpu in self._gpus_seen.get(Named(cluster, node), ()) if gpu.model is not None}

    def link(self, cluster: str, device: str, port: str) -> Link | None:
        """What a port is plugged into, by all that files and LLDP say of it."""
        cable = self.cables.at(cluster, f"{device}/{port}")
        return cable.link if cable else None

    def planned(self, cluster: str, device: str, port: str) -> Link | None:
        """What the file says of a port where LLDP sees that the cable was moved."""
        cable = self.cables.at(cluster, f"{device}/{port}")
        return cable.planned if cable else None

    def ports_behind(self, cluster: str, gpu_uuid: str | None, node: str | None) -> set[str]:
        """`device/port` of the cables that a GPU's traffic takes; by the node where the cable names no GPU."""
        found = self.cables.of_gpu(cluster, gpu_uuid) if gpu_uuid else set()
        links = {name: cable.link for name in found if (cable := self.cables.at(cluster, name)) is not None}
        if any(not is_own(link) for link in links.values()):
            return found
        of_node = self.cables.of_node(cluster, node) if node else set()
        if not found:
            return of_node
        # The host says which NIC the GPU is by, but no cable leads to that NIC: any that names no GPU may.
        cables = {name: cable.link for name in of_node if (cable := self.cables.at(cluster, name)) is not None}
        return found | {name for name, link in cables.items() if not link.gpu_uuids and not is_own(link)}

    def is_up(self, cluster: str, port: str) -> bool:
        """Is `device/port` read by a collector, and not told to be down?"""
        device, _, name = port.partition("/")
        return any(p.name == name and p.oper_up is not False for p in self._ports_seen.get(Named(cluster, device), ()))

    def jobs_on_port(self, cluster: str, device: str, port: str) -> set[str]:
        """Running jobs whose traffic crosses a cable.

        Host-facing: jobs on the GPUs behind it (on the whole host when the cable names no GPU). Between
        switches: jobs with ranks below one of the two and ranks elsewhere; which of them crosses this very
        cable is not known, so all are named.
        """
        link = self.link(cluster, device, port)
        if link is None:
            node = self.device_node.get(Named(cluster, device))
            return self.jobs_on_node(cluster, node) if node else set()
        if link.gpu_uuids:
            return set().union(*(self.jobs_on_gpu(cluster, uuid) for uuid in link.gpu_uuids))
        if link.node is not None:
            return self.jobs_on_node(cluster, link.node)
        if link.far_kind != "switch":
            return set()
        below = self.nodes_below(cluster, device) or self.nodes_below(cluster, link.far_device)
        return {job for job in self._names_on(cluster, below) if not self.placements.nodes_of(cluster, job) <= below}

    def nodes_below(self, cluster: str, device: str) -> set[str]:
        """Hosts cabled to a switch directly."""
        return self.cables.nodes_below(cluster, device)

    def jobs_below(self, cluster: str, device: str) -> set[str]:
        """Running jobs with a rank on a host cabled to this switch, or on the host of this NIC."""
        node = self.device_node.get(Named(cluster, device))
        return self._names_on(cluster, self.nodes_below(cluster, device) | ({node} if node else set()))

    def is_running(self, cluster: str, job: str) -> bool:
        """A job that was not seen to end; one never placed counts as running."""
        return not self.placements.has_ended(cluster, job)

    def _names_on(self, cluster: str, nodes: set[str]) -> set[str]:
        return set().union(*(self.jobs_on_node(cluster, node) for node in nodes)) if nodes else set()

    def _scrape(self, message: GpuScrape) -> None:
        node = Named(message.cluster, message.node)
        if node not in self.nodes:
            self._node(node)
        self.nodes[node] = message.ts_us
        if self._gpus_seen.get(node) == message.gpus:
            return
        self._gpus_seen[node] = message.gpus
        places = places_of(message)
        if self._known.get(node) == places:
            return
        self._known[node] = places
        self.version += 1
        for uuid, place in places.items():
            self.gpus[Named(message.cluster, uuid)] = place
            if place.pci is not None:
                self._at_pci[(message.cluster, message.node, place.pci)] = uuid
        self.cables.gpus(*node, {g.index: g.uuid for g in message.gpus if g.index is not None and g.mig is None})

    def _device(self, message: PortScrape) -> None:
        device = Named(message.cluster, message.device)
        self._ports_seen[device] = message.ports
        if message.node is not None:
            if self.device_node.get(device) != message.node:
                self.device_node[device] = message.node
                self.version += self.cables.name(message.cluster, Host(message.device, "nic", message.node))
        elif message.kind == "switch" and device not in self._switches:
            self._switches.add(device)
            self.version += self.cables.name(message.cluster, Host(message.device, "switch"))

    def _node(self, node: Named) -> None:
        self.version += self.cables.name(node.cluster, Host(node.name, "node", node.name))

    def _job(self, message: JobEvent) -> None:
        self.version += self.placements.learn(message)
        if message.kind == "ended":
            names = {message.job, self.placements.own_name(message.cluster, message.job)}
            self.failures.learn(message, set().union(*(self.placements.nodes_of(message.cluster, n) for n in names)))
        if message.kind == "placed":
            for node in {p.node for p in message.placement}:
                self._node(Named(message.cluster, node))
