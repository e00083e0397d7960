"""The fleet in time: GPUs, ports and jobs moved on together, and what is to be seen of them."""

from collections.abc import Iterator

from infra.fleet.calendar import THEN_TICKS, Happening
from infra.fleet.fabric import Fabric
from infra.fleet.gpu import IDLE
from infra.fleet.ground import Ground
from infra.fleet.jobs import Jobs
from infra.fleet.layout import GpuSlot
from infra.fleet.nic import Nics
from infra.fleet.noise import stream
from infra.fleet.port import FRAME_BYTES
from infra.fleet.scenario import Scenario
from infra.fleet.strain import gpu_stress
from infra.fleet.strikes import DOWN, Strikes


class World(Ground):
    """Everything of one scenario. Time goes on only by `advance`; the same calls give the same fleet."""

    def __init__(self, scenario: Scenario, start_us: int, cluster: str = "default") -> None:
        super().__init__(scenario, start_us, cluster)
        noise, seed = scenario.noise, scenario.seed
        self.fabric = Fabric(self.layout, seed, noise)
        self.nics: dict[str, Nics] = {}
        if scenario.nics:
            self.nics = {n: Nics(stream(seed, "nics", n), n, self.layout.gpus) for n in self.layout.node_names}
        self._can_be_down = any(f.kind in DOWN for f in scenario.faults)
        self._jobs = Jobs(self)
        self.runs = self._jobs.runs
        Strikes(self, self._jobs)
        self.calendar.at(start_us, THEN_TICKS, self._tick)

    def next_us(self) -> int:
        """When something happens next."""
        return self.calendar.next_us()

    def advance(self, to_us: int) -> list[Happening]:
        """Let time go on to `to_us`, inclusive; what happened, in order."""
        out: list[Happening] = []
        while self.calendar.next_us() <= to_us:
            self.now_us, act = self.calendar.take()
            out.extend(act())
        self.now_us = max(self.now_us, to_us)
        return out

    def _tick(self) -> Iterator[Happening]:
        """Move GPUs and ports over the interval that ends now, under what was wrong when it began."""
        dt_s = self.scenario.interval_s
        for node, slots in self.layout.gpu_slots.items():
            run = self._jobs.on(node)
            braked = self.active(self.rack_of[node], dt_s)
            for slot in slots:
                if slot.name in self.lost:
                    continue
                stress = gpu_stress(self.active(slot.name, dt_s), braked)
                self.gpus[slot.name].tick(dt_s, run.load(slot) if run is not None else IDLE, stress)
        self.fabric.tick(dt_s, lambda target: self.active(target, dt_s), self._jobs.rate, self._was_down)
        for node, nics in self.nics.items():
            slots = self.layout.gpu_slots[node]
            sent = [self._jobs.rate(slot) / FRAME_BYTES for slot in slots]
            nics.tick(dt_s, [self._retries(slot) for slot in slots], sent)
        self.calendar.at(self.now_us + round(dt_s * 1e6), THEN_TICKS, self._tick)
        return iter(())

    def _was_down(self, node: str) -> bool:
        """Whether a node, and with it its ends of all links, has been down since the last tick."""
        before = self.now_us - round(self.scenario.interval_s * 1e6)
        return self._can_be_down and self.down(node, before)

    def _retries(self, slot: GpuSlot) -> float:
        """A second, of the NIC of a GPU that transfers: what a switch lost on the way."""
        device = self.device_of.get(slot.name, "")
        faults = self.active(device, self.scenario.interval_s) if self._jobs.rate(slot) > 0.0 else []
        return sum(f.size for f in faults if f.kind == "grey_loss")
