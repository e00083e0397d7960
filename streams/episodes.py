"""Episodes: the edges of one fault on one part, and what is remembered while it is open."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct, field

from streams.contract import Evidence, Finding, Subject

_GRAVITY = {"info": 0, "warning": 1, "critical": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Damping:
    """When an open episode is worth another word. On-call reads edges, not samples."""

    growth: float = 2.0
    """The value has grown by this factor since the last edge, ..."""
    least_us: int = 60_000_000
    """... and this much event time has passed since it. A graver severity or new cause is told at once."""


class Episodes(Struct):
    """The open episodes of one message key, by a name that the detector chooses (`port/priority`).

    The value is the last edge that was sent; its `episode_us` is the start. A plain Struct: a detector puts
    it into what it keeps, and msgspec encodes it. It changes only when an edge is returned, so equal
    bytes mean no new edge.
    """

    open: dict[str, Finding] = field(default_factory=dict)

    def report(self, name: str, finding: Finding, damping: Damping = Damping(), most: int = 1024) -> Finding | None:
        """Say that the fault is there now; the edge to send, or None when it says nothing new.

        `finding` is built as if it opened: `state` is ignored, start and subject are those of the first edge. Each
        open episode of one subject gets a start of its own (a microsecond later), as its key demands. Beyond
        `most` open episodes no further one is opened: state stays bounded whatever comes in.
        """
        last = self.open.get(name)
        if last is None:
            if len(self.open) >= most:
                return None
            edge = msgspec.structs.replace(finding, state="opened", episode_us=self._start(finding))
        elif _is_news(last, finding, damping):
            edge = msgspec.structs.replace(finding, state="updated", episode_us=last.episode_us, subject=last.subject)
        else:
            return None
        self.open[name] = edge
        return edge

    def clear(self, name: str, ts_us: int, summary: str, evidence: Sequence[Evidence] = ()) -> Finding | None:
        """End an episode on positive evidence that the fault is gone; the edge to send, None if none is open.

        Severity, cause, value, limit and subject stay those of the last edge.
        """
        last = self.open.pop(name, None)
        if last is None:
            return None
        return msgspec.structs.replace(last, state="cleared", ts_us=ts_us, summary=summary, evidence=list(evidence))

    def replace(self, name: str, ts_us: int, heir: str) -> Finding | None:
        """End an episode because another part reports in the place of its own; the edge, None if none is open."""
        last = self.open.get(name)
        if last is None:
            return None
        return self.clear(name, ts_us, f"{_gone(last.subject)} gone, replaced by {heir}")

    def _start(self, finding: Finding) -> int:
        taken = {f.episode_us for f in self.open.values() if f.subject == finding.subject}
        start = finding.episode_us
        while start in taken:
            start += 1
        return start


def _gone(subject: Subject) -> str:
    if subject.kind == "node":
        return f"GPUs of {subject.id} are"
    if subject.kind != "gpu":
        return f"{subject.kind} {subject.id} is"
    name = subject.id if subject.gpu_index is None else f"GPU {subject.gpu_index} ({subject.id})"
    return f"{name} of {subject.node} is"


def graver(a: str, b: str) -> bool:
    """Is severity `a` graver than `b`?"""
    return _GRAVITY[a] > _GRAVITY[b]


def _is_news(last: Finding, now: Finding, damping: Damping) -> bool:
    if graver(now.severity, last.severity):
        return True
    if graver(last.severity, now.severity):
        return False
    if now.cause != last.cause:
        return True
    if now.value is None or last.value is None or now.ts_us - last.ts_us < damping.least_us:
        return False
    return now.value > last.value and now.value >= last.value * damping.growth
