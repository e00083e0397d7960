"""Who is where: nodes, GPUs, racks, switches and cables. A pure function of the fleet's sizes."""

import uuid
from dataclasses import dataclass
from functools import cached_property

from collectors.contract.fabric import Link
from collectors.contract.gpu import Gpu

HGX_BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
"""PCI buses of the eight GPUs of a common HGX H100 board."""
PORT_SPEED_GBPS = 400.0
LANES = 8
"""SONiC numbers ports by lanes: a 400G port takes eight."""
LOSSLESS = (3,)
NAMESPACE = uuid.UUID("6f1f3d5e-7a52-4c3c-9d0e-2b1a4c5d6e7f")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSlot:
    """One GPU in one node."""

    name: str
    """`node/index`, as scenario files write it."""
    node: str
    index: int
    uuid: str
    pci: str
    model: str
    speed: float = 1.0
    """Of its compute, against the fleet's first model."""

    def described(self, job: str | None) -> Gpu:
        """As a scrape describes it."""
        return Gpu(uuid=self.uuid, index=self.index, model=self.model, pci=self.pci, hpc_job=job)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable:
    """A switch port and the NIC behind it. NIC i of a node serves GPU i and runs on rail i."""

    device: str
    port: str
    row: int
    """The port's place among the switch's ports."""
    gpu: GpuSlot

    @property
    def name(self) -> str:
        """`device/port`, as scenario files write it."""
        return f"{self.device}/{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trunk:
    """One end of a cable between a leaf and a spine."""

    device: str
    port: str
    far_device: str
    far_port: str
    up: bool
    """Seen from the leaf."""

    @property
    def name(self) -> str:
        """`device/port`."""
        return f"{self.device}/{self.port}"

    @property
    def far_name(self) -> str:
        """`device/port` of the other end."""
        return f"{self.far_device}/{self.far_port}"


@dataclass(frozen=True)
class Layout:
    """The fleet's things by name."""

    nodes: int
    gpus: int
    switches: int
    racks: int
    model: str
    spines: int = 0
    second_model: str = ""
    second_nodes: frozenset[str] = frozenset()
    """Nodes whose GPUs are of the second model."""
    second_speed: float = 1.0
    """How fast those compute, against the first."""

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """`node-01`, `node-02`, ..."""
        return tuple(f"node-{i:02d}" for i in range(1, self.nodes + 1))

    @cached_property
    def switch_names(self) -> tuple[str, ...]:
        """`leaf-1`, `leaf-2`, ..."""
        return tuple(f"leaf-{i}" for i in range(1, self.switches + 1))

    @cached_property
    def rack_nodes(self) -> dict[str, tuple[str, ...]]:
        """Rack name -> its nodes, dealt in order."""
        out: dict[str, list[str]] = {f"rack-{i}": [] for i in range(1, self.racks + 1)}
        for place, node in enumerate(self.node_names):
            out[f"rack-{place * self.racks // self.nodes + 1}"].append(node)
        return {rack: tuple(nodes) for rack, nodes in out.items()}

    @cached_property
    def gpu_slots(self) -> dict[str, tuple[GpuSlot, ...]]:
        """Node -> its GPUs in DCGM's order."""
        return {node: tuple(self._slot(node, i) for i in range(self.gpus)) for node in self.node_names}

    @cached_property
    def gpu_by_name(self) -> dict[str, GpuSlot]:
        """`node/index` -> GPU."""
        return {slot.name: slot for slots in self.gpu_slots.values() for slot in slots}

    @cached_property
    def cables(self) -> dict[str, tuple[Cable, ...]]:
        """Switch -> its cabled ports in order. Rail i goes to switch i modulo the number of switches.

        With twice as many switches as rails or more there are pods: equal shares of the nodes, in order, each with
        a switch a rail.
        """
        out: dict[str, list[Cable]] = {name: [] for name in self.switch_names}
        pods = max(1, self.switches // self.gpus)
        for place, node in enumerate(self.node_names if self.switches else ()):
            first = place * pods // self.nodes * self.gpus
            for slot in self.gpu_slots[node]:
                device = self.switch_names[first + slot.index % min(self.switches, self.gpus)]
                row = len(out[device])
                out[device].append(Cable(device=device, port=f"Ethernet{row * LANES}", row=row, gpu=slot))
        return {name: tuple(cables) for name, cables in out.items()}

    @cached_property
    def cable_by_name(self) -> dict[str, Cable]:
        """`device/port` -> cable."""
        return {cable.name: cable for cables in self.cables.values() for cable in cables}

    @cached_property
    def spine_names(self) -> tuple[str, ...]:
        """`spine-1`, ..."""
        return tuple(f"spine-{i}" for i in range(1, self.spines + 1))

    @cached_property
    def trunks(self) -> dict[str, tuple[Trunk, ...]]:
        """Switch -> its cables between leaf and spine: one from each leaf to each spine, after the leaf's NICs."""
        out: dict[str, list[Trunk]] = {name: [] for name in (*self.switch_names, *self.spine_names)}
        for place, leaf in enumerate(self.switch_names if self.spines else ()):
            for row, spine in enumerate(self.spine_names, len(self.cables[leaf])):
                here, there = f"Ethernet{row * LANES}", f"Ethernet{place * LANES}"
                out[leaf].append(Trunk(device=leaf, port=here, far_device=spine, far_port=there, up=True))
                out[spine].append(Trunk(device=spine, port=there, far_device=leaf, far_port=here, up=False))
        return {name: tuple(trunks) for name, trunks in out.items()}

    @cached_property
    def trunk_by_name(self) -> dict[str, Trunk]:
        """`device/port` -> cable between switches, both ends."""
        return {trunk.name: trunk for trunks in self.trunks.values() for trunk in trunks}

    def port_names(self, device: str) -> list[str]:
        """All cabled ports of a switch in order."""
        return [c.port for c in self.cables.get(device, ())] + [t.port for t in self.trunks.get(device, ())]

    def links(self, cluster: str, ts_us: int) -> list[Link]:
        """Every cable as an inventory tells it: the switch's side, with the GPU behind the NIC."""
        return [
            Link(
                cluster=cluster,
                ts_us=ts_us,
                device=cable.device,
                port=cable.port,
                far_device=cable.gpu.node,
                far_port=f"rdma{cable.gpu.index}",
                far_kind="nic",
                node=cable.gpu.node,
                gpu_uuids=[cable.gpu.uuid],
                rail=cable.gpu.index,
                source="inventory",
            )
            for cables in self.cables.values()
            for cable in cables
        ] + [
            Link(
                cluster=cluster,
                ts_us=ts_us,
                device=trunk.device,
                port=trunk.port,
                far_device=trunk.far_device,
                far_port=trunk.far_port,
                far_kind="switch",
                source="inventory",
            )
            for trunks in self.trunks.values()
            for trunk in trunks
        ]

    def _slot(self, node: str, index: int) -> GpuSlot:
        bus = HGX_BUSES[index] if index < len(HGX_BUSES) else f"{0x20 + index:02x}"
        return GpuSlot(
            name=f"{node}/{index}",
            node=node,
            index=index,
            uuid=f"GPU-{uuid.uuid5(NAMESPACE, f'{node}/{index}')}",
            pci=f"0000:{bus}:00",
            model=self.second_model if node in self.second_nodes else self.model,
            speed=self.second_speed if node in self.second_nodes else 1.0,
        )
