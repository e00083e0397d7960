"""What the jobs and the faults of a fleet share: its time, its calendar, what is wrong where, what is off the bus."""

from infra.fleet.calendar import Act, Calendar
from infra.fleet.fault import Fault
from infra.fleet.gpu import Gpu
from infra.fleet.layout import GpuSlot
from infra.fleet.noise import stream
from infra.fleet.scenario import Scenario
from infra.fleet.troubles import Troubles

DROP_COUNTERS = frozenset({"queue_drop_packets.0", "queue_drop_packets.3", "port_tx_discard_packets"})


class Ground:
    """The fleet's things and what holds for each of them now."""

    def __init__(self, scenario: Scenario, start_us: int, cluster: str) -> None:
        self.scenario = scenario
        self.layout = scenario.layout
        self.start_us = start_us
        self.cluster = cluster
        self.now_us = start_us
        self.calendar = Calendar()
        self.gpus = {n: Gpu(stream(scenario.seed, "gpu", n), scenario.noise) for n in self.layout.gpu_by_name}
        self.lost: frozenset[str] = frozenset()
        """Names of GPUs that are off the bus."""
        self.troubles = Troubles(scenario.faults)
        self.rack_of = {node: rack for rack, nodes in self.layout.rack_nodes.items() for node in nodes}
        self.cable_of = {cable.gpu.name: cable.name for cable in self.layout.cable_by_name.values()}
        self.device_of = {cable.gpu.name: cable.device for cable in self.layout.cable_by_name.values()}

    @property
    def now_s(self) -> float:
        """Seconds since the scenario's start."""
        return (self.now_us - self.start_us) / 1e6

    def us(self, at_s: float) -> int:
        """A second of the scenario in Unix microseconds."""
        return self.start_us + round(at_s * 1e6)

    def at(self, at_s: float, rank: int, act: Act) -> None:
        """Enter an act of a second of the scenario in the calendar."""
        self.calendar.at(self.us(at_s), rank, act)

    def after(self, delay_s: float, rank: int, act: Act) -> None:
        """Enter an act of so many seconds from now."""
        self.calendar.at(self.now_us + round(delay_s * 1e6), rank, act)

    def active(self, target: str, before_s: float = 0.0) -> list[Fault]:
        """The faults at work on a target now, or so long ago."""
        return self.troubles.at(target, self.now_s - before_s)

    def silent(self, name: str, at_us: int) -> bool:
        """Whether nothing of a node, or of a switch, reaches its collectors at that time."""
        return self._any(name, at_us, "node_silent", "node_down", "leaf_down") or self._any(
            self.rack_of.get(name, ""), at_us, "rack_down"
        )

    def down(self, node: str, at_us: int) -> bool:
        """Whether a node has crashed or has no power at that time."""
        return self._any(node, at_us, "node_down") or self._any(self.rack_of[node], at_us, "rack_down")

    def uncollected(self, node: str, at_us: int) -> bool:
        """Whether no collector runs on the node at that time; those elsewhere still reach it."""
        return self._any(node, at_us, "collectors_dead")

    def unreported(self, job: str, at_us: int) -> bool:
        """Whether the job's own reports are lost at that time."""
        return self._any(job, at_us, "reports_lost")

    def stalled(self, node: str, at_us: int) -> bool:
        """Whether the node's exporter does not answer at that time."""
        return self._any(node, at_us, "exporter_stalled")

    def blind(self, device: str) -> frozenset[str]:
        """Counters that a switch does not tell now."""
        return DROP_COUNTERS if self._any(device, self.now_us, "counter_blind") else frozenset()

    def seen(self, node: str) -> list[tuple[GpuSlot, Gpu]]:
        """The GPUs that a node's exporter sees, in order."""
        return [(slot, self.gpus[slot.name]) for slot in self.layout.gpu_slots[node] if slot.name not in self.lost]

    def _any(self, target: str, at_us: int, *kinds: str) -> bool:
        return self.troubles.any(target, (at_us - self.start_us) / 1e6, *kinds)
