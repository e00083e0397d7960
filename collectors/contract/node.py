"""What a scheduler or an operator says of a node: whether it takes work, why not, and where it stands."""

from msgspec import field

from collectors.contract.message import Message


class NodeState(Message, frozen=True, kw_only=True):
    """One source's word on one node. The last word of a source is true; `ts_us` is when it was seen."""

    node: str
    source: str
    """slurm, kubernetes, file, ..."""
    schedulable: bool | None = None
    """Does it take new work? None: not known."""
    planned: bool | None = None
    """Is it out of service on purpose (drained by a person, maintenance, reboot asked for)? None: not known."""
    states: list[str] = field(default_factory=list)
    """As the source calls them: `IDLE`, `DRAIN`, `Ready`, `SchedulingDisabled`."""
    reason: str | None = None
    by: str | None = None
    """The person who closed or opened it, where the source names one; a machine's doing names nobody."""
    until_us: int | None = None
    """The planned end, where one is given."""
    rack: str | None = None
    serial: str | None = None
    """Of the chassis."""
