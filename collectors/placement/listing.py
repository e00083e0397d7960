"""What a scheduler lists: the jobs that hold GPUs now, and those that ended lately."""

from dataclasses import dataclass, field

from collectors.contract.job import Placement, PlacementSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A job that holds GPUs. `placement` rows are numbered -1, -2, ...: no scheduler knows ranks."""

    job: str
    attempt: int
    since_us: int
    placement: tuple[Placement, ...]
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a job ended, in the scheduler's words, lower case."""

    job: str
    attempt: int
    ts_us: int
    state: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """One whole answer of a scheduler. `complete`: a job that is not in it is there no more."""

    source: PlacementSource
    held: tuple[Held, ...]
    ended: tuple[Ended, ...] = ()
    complete: bool = True
    unread: tuple[str, ...] = field(default=())
    """What could not be read of single jobs, and why."""
    size: int = field(default=0, compare=False)
    """Bytes of the answer."""
