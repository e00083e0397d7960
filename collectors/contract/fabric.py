"""Switches, NICs and the cables between them."""

from typing import Literal

from msgspec import Struct, field

from collectors.contract.message import Message


class Port(Struct, frozen=True, kw_only=True):
    """One port of a device. `lossless`: priorities on which nothing may be dropped; None: not told."""

    name: str
    speed_gbps: float | None = None
    link_layer: Literal["ethernet", "infiniband"] | None = None
    lossless: list[int] | None = None
    oper_up: bool | None = None


class CounterForm(Struct, frozen=True, kw_only=True):
    """How a source keeps one counter: its width, what it does at the end of it, and how often it is renewed."""

    kind: Literal["counter", "saturating_counter", "gauge", "state", "event"] = "counter"
    bits: int = 64
    """0: the source does not say."""
    refresh_us: int | None = None
    """The device renews the value no faster; None: not known."""


class PortScrape(Message, frozen=True, kw_only=True):
    """All ports of one device at one moment. Columns are parallel to `ports`.

    Per-priority, per-queue and per-group counters carry the index: `pfc_rx_frames.3`, `queue_tx_packets.3`.
    """

    device: str
    kind: Literal["switch", "nic", "hca"] = "switch"
    node: str | None = None
    """The host that holds a NIC or HCA."""
    epoch: str = ""
    """Restart marker: counters of different epochs must not be subtracted."""
    ports: list[Port]
    columns: dict[str, list[int | float | None]] = field(default_factory=dict)
    """Canonical counter -> one value per port; None: could not be read."""
    forms: dict[str, CounterForm] = field(default_factory=dict)
    """Columns whose form is not a 64-bit counter that wraps."""
    named: dict[str, list[int | float | str | None]] = field(default_factory=dict)
    """What no canonical counter stands for, under the source's own name."""
    baseline: bool = False
    """The first values after a (re)connect: nothing may be subtracted across it from a lost stream."""
    errors: dict[str, str] = field(default_factory=dict)
    port_epochs: list[str] = field(default_factory=list)
    """Where a device tells of breaks port by port: a restart marker of each port's own counters. Empty: it does not."""
    saturated: dict[str, list[int | float | None]] = field(default_factory=dict)
    """Counters that stopped at their end: at least so many, at the ports that stand there; None elsewhere.

    The column has None at those ports: a number that cannot grow is no count.
    """

    def epoch_of(self, row: int) -> str:
        """The restart marker of one port's counters: the device's own and the port's."""
        if row < len(self.port_epochs) and (own := self.port_epochs[row]):
            return f"{self.epoch}/{own}" if self.epoch else own
        return self.epoch


class Link(Message, frozen=True, kw_only=True):
    """One end of a cable: what `device`/`port` is plugged into, as one source tells it.

    The last message of a source about a port stands for that source. Readers merge the sources: the file or
    inventory knows the host, its GPUs and the rail; LLDP knows where the cable is plugged in now.

    Where `device` is `node`, a host tells of its own NIC: `port` is one of its names, `far_port` the port's.
    """

    device: str
    port: str
    far_device: str
    far_port: str | None = None
    far_kind: Literal["switch", "nic", "hca", "unknown"] = "unknown"
    node: str | None = None
    """The host behind the far end, when it is a NIC or HCA."""
    gpu_uuids: list[str] = field(default_factory=list)
    """GPUs that use that NIC (PCIe affinity, rail)."""
    gpu_index: list[int] = field(default_factory=list)
    """The same GPUs by DCGM's index on `node`, where their UUIDs are not told."""
    rail: int | None = None
    source: Literal["lldp", "file", "inventory"] = "file"
    up: bool = True
    """False: by a file or inventory, no cable is there any more; by LLDP, the neighbour is not heard now."""
