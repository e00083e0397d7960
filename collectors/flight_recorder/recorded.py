"""What is read of one rank's dump."""

from dataclasses import dataclass, field

from collectors.contract.job import OperationState


@dataclass(slots=True)
class Group:
    """A process group. `ranks`: the job's ranks in the group's order; None where the dump does not list them."""

    name: str
    desc: str | None = None
    ranks: list[int] | None = None
    status: dict[str, int] = field(default_factory=dict)
    """`enqueued`, `started`, `completed` -> the last sequence number."""


@dataclass(slots=True)
class Entry:
    """One operation. `seq` is that of collectives, or of sends and receives, of its group."""

    group: str
    seq: int
    coll: str
    op_id: int | None = None
    bytes: int | None = None
    dtype: str | None = None
    exec_us: float | None = None
    peer: int | None = None
    state: OperationState | None = None
    created_us: int | None = None
    started_us: int | None = None
    completed_us: int | None = None


@dataclass(slots=True)
class Dump:
    """Everything that is read of one file."""

    version: str | None
    groups: dict[str, Group]
    entries: list[Entry]
    size: int = field(default=0, compare=False)
    """Bytes of the file."""
