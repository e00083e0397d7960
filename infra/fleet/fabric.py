"""The switches in time: what each port carries and suffers, and how a storm of pause spreads from port to port."""

from collections.abc import Callable

from infra.fleet.fault import Fault
from infra.fleet.layout import GpuSlot, Layout, Trunk
from infra.fleet.noise import stream
from infra.fleet.port import SOUND, Port, Trouble

CROSSING = 0.1
"""Share of a leaf's traffic that crosses the spines: with a rail to each leaf most stays below it."""
SPREAD = 0.95
"""A leaf that cannot get rid of what it holds keeps its uplinks waiting for this share of the storm."""
STORM = 0.8
"""From this share of the time on, the buffer behind a held port fills up."""
FLAW = {"lossless_drop": "drops", "bad_link": "broken", "pause_storm": "held", "pause_pressure": "held"}
"""Kind of fault -> what it does to its port."""


class Fabric:
    """All ports of the fleet. `active(target)` gives the faults at work on a port or switch."""

    def __init__(self, layout: Layout, seed: int, noise: float) -> None:
        self._layout = layout
        self.ports = {name: Port(stream(seed, "port", name), noise) for name in layout.cable_by_name}
        self.ports |= {name: Port(stream(seed, "port", name), noise) for name in layout.trunk_by_name}

    def tick(
        self,
        dt_s: float,
        active: Callable[[str], list[Fault]],
        rate: Callable[[GpuSlot], float],
        down: Callable[[str], bool],
    ) -> None:
        """Move all ports on. `rate`: bytes a second that the NIC of a GPU sends. `down`: whether a node is."""
        layout = self._layout
        storms: dict[str, float] = {}
        for device, cables in layout.cables.items():
            gone = any(f.kind == "leaf_down" for f in active(device))
            carried = 0.0
            for cable in cables:
                bytes_per_s = 0.0 if gone else rate(cable.gpu)
                carried += bytes_per_s
                trouble = Trouble(down=True) if gone or down(cable.gpu.node) else _trouble(active(cable.name))
                if trouble.held >= STORM:
                    storms[device] = max(storms.get(device, 0.0), trouble.held * SPREAD)
                self.ports[cable.name].tick(dt_s, bytes_per_s, trouble)
            uplinks = [trunk for trunk in layout.trunks.get(device, ()) if trunk.up]
            for trunk in uplinks:
                self._cross(dt_s, trunk, carried * CROSSING / len(uplinks), storms.get(device, 0.0), gone)

    def _cross(self, dt_s: float, trunk: Trunk, bytes_per_s: float, storm: float, gone: bool) -> None:
        """Both ends of a cable between leaf and spine."""
        leaf, spine = SOUND, SOUND
        if gone:
            leaf = spine = Trouble(down=True)
        elif storm > 0.0:
            leaf, spine = Trouble(holds=storm), Trouble(held=storm)
        self.ports[trunk.name].tick(dt_s, bytes_per_s, leaf)
        self.ports[trunk.far_name].tick(dt_s, bytes_per_s, spine)


def _trouble(faults: list[Fault]) -> Trouble:
    if not faults:
        return SOUND
    flaws = dict.fromkeys(("drops", "broken", "held"), 0.0)
    for fault in faults:
        if fault.kind in FLAW:
            flaws[FLAW[fault.kind]] += fault.size
    return Trouble(**flaws, down=any(fault.kind == "link_flap" for fault in faults))
