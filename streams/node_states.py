"""What schedulers and operators say of nodes: in which rack they stand, and which are out of service on purpose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from collectors.contract.node import NodeState
from streams.placements import Named


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLimits:
    """What a site can say of its fleet where no source does."""

    racks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Rack -> its nodes: `[fleet.racks]` with `r2 = ["node-07", "node-08"]`. Believed before what schedulers and
    inventories tell; empty by default, for no rack can be guessed."""


@dataclass(slots=True)
class NodeStates:
    """Learns in any order; the newest word of each source stands."""

    changed_us: int = 0
    """When the newest word that changed anything was seen."""
    _told: dict[Named, dict[str, NodeState]] = field(default_factory=dict)
    _ends_us: dict[tuple[Named, str], int] = field(default_factory=dict)
    """Node and source -> when its planned work ends."""
    _given: dict[str, str] = field(default_factory=dict)
    """Node -> rack, by the limits file, in every cluster."""

    def give(self, racks: Mapping[str, Sequence[str]]) -> None:
        """Racks that the limits file names."""
        self._given = {node: rack for rack, nodes in racks.items() for node in nodes}

    def learn(self, state: NodeState) -> bool:
        """Take one word in; whether it says anything new of rack or planned work."""
        told = self._told.setdefault(Named(state.cluster, state.node), {})
        known = told.get(state.source)
        if known is not None and known.ts_us > state.ts_us:
            return False
        told[state.source] = state
        self._ends_us.pop((Named(state.cluster, state.node), state.source), None)
        if state.planned and state.until_us is not None:
            self._ends_us[(Named(state.cluster, state.node), state.source)] = state.until_us
        if known is not None and _gist(known) == _gist(state):
            return False
        self.changed_us = max(self.changed_us, state.ts_us)
        return True

    def rack(self, cluster: str, node: str) -> str | None:
        """Where a node stands; of sources that differ, the one that spoke last."""
        if node in self._given:
            return self._given[node]
        told = [s for s in self._told.get(Named(cluster, node), {}).values() if s.rack is not None]
        return max(told, key=lambda s: (s.ts_us, s.source)).rack if told else None

    def serial(self, cluster: str, node: str) -> str | None:
        """Of the chassis, as the source says that spoke last."""
        told = [s for s in self._told.get(Named(cluster, node), {}).values() if s.serial is not None]
        return max(told, key=lambda s: (s.ts_us, s.source)).serial if told else None

    def nodes_in(self, cluster: str, rack: str) -> set[str]:
        """Nodes of a rack."""
        known = {node for node, told in self._given.items() if told == rack}
        return known | {n.name for n in self._told if n.cluster == cluster and self.rack(*n) == rack}

    def planned(self, cluster: str, node: str, ts_us: int) -> str | None:
        """Why a node is out of service on purpose, in words; None: it is not, or nobody knows.

        A node that takes no work for a reason that is not known to be meant (`planned` unknown) is not excused:
        schedulers close a node that died as well.
        """
        for source, state in sorted(self._told.get(Named(cluster, node), {}).items()):
            if state.planned and (state.until_us is None or ts_us < state.until_us):
                why = state.reason or ", ".join(state.states) or "out of service on purpose"
                return f"{source} says of {node}: {why}"
        return None

    def words(self, cluster: str, node: str) -> list[NodeState]:
        """The last word of each source on a node."""
        return list(self._told.get(Named(cluster, node), {}).values())

    def turned_us(self, now_us: int) -> int:
        """The last moment up to now at which anything changed or planned work ended."""
        told = (self.changed_us, *self._ends_us.values())
        return max((us for us in told if us <= now_us), default=0)


def _gist(state: NodeState) -> tuple[bool | None, int | None, str | None, str | None, str | None]:
    return state.planned, state.until_us, state.rack, state.reason, state.serial
