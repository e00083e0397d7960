"""What is remembered of each node's health, and its rows."""

from dataclasses import dataclass, field
from typing import Literal

import msgspec
from msgspec import Struct

from streams.contract import HealthActor, HealthState, NodeHealth
from streams.placements import Named


class Mark(Struct):
    """One finding that weighs on a part of a node."""

    part: str
    cause: str
    kind: str
    """The detector: two of one kind are not independent."""
    points: float
    hard: bool
    since_us: int
    ts_us: int = 0
    """Of its last edge."""
    cleared_us: int | None = None
    symptom: bool = False
    """Something else is the cause: weighs nothing, unless it is hard and lasts."""


class Move(Struct, frozen=True, kw_only=True):
    """The last change of a node's state."""

    state: HealthState = "healthy"
    since_us: int = 0
    before: HealthState | None = None
    why: str = ""
    actor: HealthActor = "lockstep"
    evidence: tuple[str, ...] = ()


class NodeMarks(Struct):
    """What weighs on one node, where it stands, and what was said of it last."""

    marks: dict[str, Mark] = msgspec.field(default_factory=dict)
    move: Move = Move()
    cordon: bool = False
    """Evidence of ours took it out, and no repair followed."""
    cordoned_us: int | None = None
    """When that was advised."""
    held_us: int | None = None
    """It should be out, but too many are: the start of the guard's episode."""
    taken_out: list[int] = msgspec.field(default_factory=list)
    """Times at which faults took it out, the last few."""
    back_us: int | None = None
    """When it came back from repair; until it is healthy again older faults are behind it."""
    good_us: int | None = None
    """Since when a suspect node's score is good."""
    gpus: list[str] = msgspec.field(default_factory=list)
    """UUIDs when it was taken to repair."""
    swapped: bool = False
    """It came back with other GPUs."""
    closed: bool | None = None
    """What schedulers said last: out of service or not."""
    blamed_us: int = 0
    """The last end of a job that was attributed to it."""
    judged_us: int = 0
    due_us: int | None = None
    """When time alone may change something."""
    told: NodeHealth | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """What all sources together say of a node's service."""

    closed: bool | None
    ts_us: int
    """When that was seen."""
    actor: HealthActor = "scheduler"
    why: Literal["drained", "planned_work"] = "drained"
    until_us: int | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(NodeMarks)


@dataclass(slots=True)
class HealthBook:
    """Nodes by name. `changed`: rows to write since the last `take_changes`."""

    nodes: dict[Named, NodeMarks] = field(default_factory=dict)
    changed: set[Named] = field(default_factory=set)

    def take_changes(self) -> dict[str, bytes | None]:
        """Rows `node|cluster/name` to write."""
        rows: dict[str, bytes | None] = {
            f"node|{n.cluster}/{n.name}": _encoder.encode(self.nodes[n]) for n in sorted(self.changed)
        }
        self.changed.clear()
        return rows

    def of_cluster(self, cluster: str) -> list[NodeMarks]:
        """Every node of a pool."""
        return [node for name, node in self.nodes.items() if name.cluster == cluster]


def restore(rows: dict[str, bytes]) -> HealthBook:
    """The state from its rows. Raises `msgspec.MsgspecError` on bytes that are not ours."""
    state = HealthBook()
    for key, raw in rows.items():
        cluster, _, node = key.partition("|")[2].partition("/")
        state.nodes[Named(cluster, node)] = _decoder.decode(raw)
    return state
