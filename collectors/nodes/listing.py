"""What one look at all nodes found."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import structs

from collectors.contract.node import NodeState

MOST_NODES = 65536


@dataclass(frozen=True, slots=True)
class NodeListing:
    """One word a node. `complete`: a node that is not in it is there no more."""

    states: Mapping[str, NodeState]
    complete: bool = True
    unread: tuple[str, ...] = ()
    """What could not be read of single nodes, and why."""
    size: int = field(default=0, compare=False)
    """Bytes of the answer."""


def news(told: Mapping[str, NodeState], found: NodeListing, ts_us: int) -> list[NodeState]:
    """Words that differ from what was told. A node that is listed no more is one of which nothing is known."""
    fresh = [state for node, state in found.states.items() if node not in told or not _same(told[node], state)]
    if not found.complete:
        return fresh
    gone = [
        NodeState(cluster=state.cluster, node=node, ts_us=ts_us, source=state.source, states=["REMOVED"])
        for node, state in told.items()
        if node not in found.states
    ]
    return fresh + [state for state in gone if not _same(told[state.node], state)]


def _same(a: NodeState, b: NodeState) -> bool:
    return structs.replace(a, ts_us=b.ts_us) == b
