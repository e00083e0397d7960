"""How programs and launchers say that training died."""

import re
from collections.abc import Iterator

from collectors.training_log.fact import Began, Fact, Failed
from collectors.training_log.line import Line

TRACEBACKS = 64
"""Ranks whose tracebacks may be open at once; a thousand ranks die of the same error."""
REASON_CHARS = 300

_ERROR = re.compile(r"^[A-Za-z_][\w.]*(?:: .*)?$")
_ELASTIC = re.compile(r"\b(failed \(exitcode: (-?\d{1,6})\) local_rank: \d+ \(pid: \d+\)) of binary\b")
_RESTART = re.compile(r"\b(Worker group \w+\. \d+/\d+ attempts left); *will restart worker group")
_SRUN = re.compile(
    r"\bsrun: error: (\S{1,200}: tasks? [\d,-]+: (?:Exited with exit code \d+|Out Of Memory|Killed|\w.{0,100}))$"
)
_SLURM = re.compile(
    r"\*\*\* (?:JOB|STEP) \S{1,40} (?:ON \S{1,100} )?(CANCELLED) AT \S{1,40}(?: DUE TO ([A-Z ]{1,60}?))? \*\*\*"
)
_DEEPSPEED = re.compile(r"\bexits with return code = (-?[1-9]\d*)")
_STATES = {
    "TIME LIMIT": "timeout",
    "NODE FAILURE": "node_fail",
    "PREEMPTION": "preempted",
    "JOB REQUEUE": "requeued",
    None: "cancelled",
}


class Trouble:
    """Reads tracebacks of each rank to their last line, and the launchers' own words."""

    def __init__(self) -> None:
        self._open: dict[tuple[int | None, int | None], None] = {}

    @property
    def open(self) -> bool:
        """Whether the next lines may be the rest of a traceback."""
        return bool(self._open)

    def read(self, line: Line) -> Iterator[Fact]:
        """An error that a program printed ends it unless it goes on; a launcher's word is final."""
        text = line.text
        rank = (line.rank, line.local)
        if "Traceback (most recent call last)" in text:
            self._open[rank] = None
            if len(self._open) > TRACEBACKS:
                del self._open[next(iter(self._open))]
        elif rank in self._open and text[:1] not in (" ", "\t", ""):
            del self._open[rank]
            if _ERROR.match(text):
                yield Failed(reason=text.rstrip()[:REASON_CHARS])
        if "exitcode" in text and (found := _ELASTIC.search(text)):
            yield Failed(reason=found[1], sure=True)
        elif "restart worker" in text and (found := _RESTART.search(text)):
            yield Failed(reason=found[1])
            yield Began()
        elif "CANCELLED" in text and (found := _SLURM.search(text)):
            why = found[2]
            yield Failed(
                reason=found[1].lower() if why is None else f"cancelled due to {why.lower()}",
                sure=True,
                state=_STATES.get(why, "cancelled"),
            )
        elif "srun: error" in text and (found := _SRUN.search(text)):
            state = "out_of_memory" if "Out Of Memory" in found[1] else "failed"
            yield Failed(reason=found[1][:REASON_CHARS], sure=True, state=state)
        elif "return code" in text and (found := _DEEPSPEED.search(text)):
            yield Failed(reason=f"exit code {found[1]}", sure=True)
