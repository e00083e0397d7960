"""What RAS told of a job at one moment, whichever form the answer had."""

from dataclasses import dataclass, field
from typing import Literal

from collectors.contract.job import MemberState

ERRORS = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
}
"""`ncclResult_t` (nccl.h) in RAS's words. 0 is success, 7 in progress."""
SUCCESS, IN_PROGRESS = 0, 7


class ReportError(ValueError):
    """An answer that is no report, or half of one; the text says why."""


@dataclass(slots=True)
class Rank:
    """One rank of a communicator. `counts`: operation -> how many were launched; empty: not told."""

    rank: int
    host: str | None = None
    pid: int | None = None
    gpu: int | None = None
    nvml: int | None = None
    state: MemberState | None = None
    error: str | None = None
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Comm:
    """One communicator: `comm` is its hash in sixteen digits."""

    comm: str
    size: int | None
    nodes: int | None = None
    ranks: dict[int, Rank] = field(default_factory=dict)

    def at(self, rank: int) -> Rank:
        """The rank, made where it was not named before."""
        return self.ranks.setdefault(rank, Rank(rank))


@dataclass(slots=True)
class Report:
    """One answer. `form` tells how much can be in it: text names only ranks that differ from the rest."""

    form: Literal["json", "text"]
    comms: list[Comm] = field(default_factory=list)
    communicators: int = 0
    """In the job, named here or not."""
    version: str | None = None
    timeouts: int = 0
    dead: int = 0
    """Processes that RAS gave up; text only."""
    silent: int = 0
    """Processes that did not answer; text only."""
