"""What people and schedulers say of the fleet: planned work, nodes out of service, racks."""

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.contract.node import NodeState
from collectors.contract.topics import NODE_STATES
from infra.fleet.layout import Layout
from infra.fleet.telemetry import Pair
from streams.contract import ORDERS, Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Planned work on parts, told when it begins. Seconds count from the scenario's start."""

    parts: tuple[str, ...]
    """`node:node-02`, `device:leaf-1`, `rack:rack-3`, `port:leaf-1/Ethernet8`."""
    from_s: float
    to_s: float

    def order(self, place: int, start_us: int, cluster: str) -> Order:
        """As the person who does it says it."""
        return Order(
            cluster=cluster,
            ts_us=start_us + round(self.from_s * 1e6),
            id=f"work-{place}",
            kind="maintenance",
            parts=list(self.parts),
            from_us=start_us + round(self.from_s * 1e6),
            until_us=start_us + round(self.to_s * 1e6),
            by="technician",
            why="planned work",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cordon:
    """A node that its scheduler was told to leave alone, from that second on."""

    node: str
    from_s: float


def states(layout: Layout, cordons: tuple[Cordon, ...], start_us: int, cluster: str) -> Iterator[Pair]:
    """Every node and its rack at the start, then the cordons."""
    for rack, nodes in layout.rack_nodes.items():
        for node in nodes:
            yield (
                NODE_STATES,
                NodeState(
                    cluster=cluster,
                    ts_us=start_us,
                    node=node,
                    source="slurm",
                    schedulable=True,
                    planned=False,
                    states=["IDLE"],
                    rack=rack,
                ),
            )
    racks = {node: rack for rack, nodes in layout.rack_nodes.items() for node in nodes}
    for cordon in cordons:
        yield (
            NODE_STATES,
            NodeState(
                cluster=cluster,
                ts_us=start_us + round(cordon.from_s * 1e6),
                node=cordon.node,
                source="slurm",
                schedulable=False,
                planned=True,
                states=["DRAIN"],
                reason="maintenance",
                rack=racks[cordon.node],
            ),
        )


def told(
    layout: Layout, works: tuple[Work, ...], cordons: tuple[Cordon, ...], start_us: int, cluster: str
) -> list[Pair]:
    """All of it in the order of its times."""
    out = list(states(layout, cordons, start_us, cluster))
    out += [(ORDERS, work.order(place, start_us, cluster)) for place, work in enumerate(works, 1)]
    return sorted(out, key=lambda pair: pair[1].ts_us)
