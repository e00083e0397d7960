"""The text answer (NCCL 2.24 and later): a summary, and by name only what is out of the ordinary.

Form: NVIDIA/nccl src/ras/client_support.cc. Where all ranks of a communicator agree, the text tells neither its
hash nor its counts; where they differ it names the minority.
"""

import re
from dataclasses import dataclass, field

from collectors.contract.job import MemberState
from collectors.nccl_ras.report import Comm, Rank, Report, ReportError

ALL = "All"
"""NCCL before 2.26 counts all kinds of operations together."""
MOST_BYTES = 32 << 20
MOST_DERIVED = 1 << 22
"""Ranks that are found by leaving out the others, in all communicators together."""
STATES: dict[str, MemberState] = {
    "NOCOMM": "left",
    "UNKNOWN": "left",
    "INIT": "init",
    "RUNNING": "ready",
    "FINALIZE": "finalize",
    "ABORT": "abort",
}
_N = "([0-9]{1,9})"
_WORDS = "|".join(STATES)
_VERSION = re.compile(r"NCCL version (\S+) compiled")
_GROUP = re.compile(rf"{_N} +{_N} +{_N} +[0-9-]+ +{_N} +{_N} +({_WORDS}) +[A-Z,]+")
_PROCESSES = re.compile(
    rf"(?:(Missing communicator data from) )?{_N} job process(?:es)?( (?:is|are) considered dead.*)?"
)
_COMM = re.compile(rf"#{_N}-{_N} \(([0-9a-f]{{1,16}})\) (INCOMPLETE|ERROR|MISMATCH)")
_COUNTS = re.compile(r"Communicator ranks have different (?:(\w+) )?operation counts")
_MANY = re.compile(
    rf"{_N} ranks (?:have status ({_WORDS})|reported (.+)|have (not) launched any operations|"
    r"have launched up to operation ([0-9]{1,18}))"
)
_WHERE = rf"(?: -- (?:GPU ([0-9]{{1,4}})(?: \(NVML ([0-9]{{1,4}})\))? managed by process {_N} on node (\S+)|\[.*\]))"
_ONE = re.compile(
    rf"Rank {_N}(?: has status ({_WORDS})| reported (.+?)| has (not) launched any operations|"
    rf" has launched up to operation ([0-9]{{1,18}}))?{_WHERE}"
)
_MISSING = re.compile(r"The missing ranks?: ([0-9, ]+)")
_PROCESS = re.compile(rf"Process {_N} on node (\S+) managing GPUs? .*")
_TIMEOUTS = re.compile(rf"Encountered {_N} communication timeouts?.*")


@dataclass(slots=True)
class _Share:
    """Ranks that have one value in common: a count, a state or an error; `named` are those that were listed."""

    declared: int
    value: int | MemberState
    named: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Block:
    """What is being told of one communicator."""

    comm: Comm
    kind: str
    operation: str | None = None
    error: str | None = None
    shares: list[_Share] = field(default_factory=list)


class _Reader:
    def __init__(self) -> None:
        self.report = Report("text")
        self.ended = False
        self._groups: dict[int, tuple[int, int, MemberState]] = {}
        self._comms: dict[str, Comm] = {}
        self._status: dict[str, MemberState] = {}
        self._block: _Block | None = None
        self._dead: set[tuple[str, int]] = set()
        self._in_dead = False
        self._derived = 0

    def line(self, text: str) -> None:
        if not text or text[0] == "=":
            return
        if text == "Warnings":
            self.ended = True
        if found := _COMM.fullmatch(text):
            self._settle()
            self._block = _Block(self._comm(found), found[4])
        elif text in ("INCOMPLETE", "DEAD", "TIMEOUT", "Errors", "Warnings"):
            self._settle()
            self._in_dead = text == "DEAD"
        elif self._block is not None:
            self._of_comm(self._block, text)
        else:
            self._of_job(text)

    def _of_job(self, text: str) -> None:
        if found := _GROUP.fullmatch(text):
            number, comms, nodes, size = (int(found[i]) for i in (1, 2, 3, 4))
            self._groups[number] = (nodes, size, STATES[found[6]])
            self.report.communicators += comms
        elif found := _PROCESSES.fullmatch(text):
            if found[3]:
                self.report.dead = int(found[2])
            elif found[1]:
                self.report.silent = int(found[2])
        elif (found := _PROCESS.fullmatch(text)) and self._in_dead:
            self._dead.add((found[2], int(found[1])))
        elif found := _VERSION.match(text):
            self.report.version = found[1]
        elif found := _TIMEOUTS.fullmatch(text):
            self.report.timeouts = int(found[1])

    def _comm(self, found: "re.Match[str]") -> Comm:
        digits = found[3].rjust(16, "0")
        if digits not in self._comms:
            nodes, size, state = self._groups.get(int(found[1]), (None, None, None))
            self._comms[digits] = Comm(digits, size, nodes)
            self.report.comms.append(self._comms[digits])
            if state is not None:
                self._status[digits] = state
        return self._comms[digits]

    def _of_comm(self, block: _Block, text: str) -> None:
        if text == "Communicator ranks have different status":
            self._settle_shares()
            self._status.pop(block.comm.comm, None)
            block.operation = None
        elif found := _COUNTS.fullmatch(text):
            self._settle_shares()
            block.operation = found[1] if found[1] not in (None, "collective") else ALL
        elif found := _MANY.fullmatch(text):
            self._many(block, found)
        elif found := _ONE.fullmatch(text):
            self._one(block, found)
        elif found := _MISSING.fullmatch(text):
            for rank in re.findall(r"[0-9]{1,9}", found[1]):
                block.comm.at(int(rank)).state = "silent"

    def _many(self, block: _Block, found: "re.Match[str]") -> None:
        value = _value(found[2], found[4], found[5])
        block.error = found[3]
        if value is not None:
            block.shares.append(_Share(int(found[1]), value))

    def _one(self, block: _Block, found: "re.Match[str]") -> None:
        rank = block.comm.at(int(found[1]))
        rank.gpu, rank.nvml = _maybe(found[6]), _maybe(found[7] or found[6])
        rank.pid, rank.host = _maybe(found[8]), found[9]
        alone = _value(found[2], found[4], found[5])
        if alone is not None:
            block.shares.append(_Share(1, alone, {rank.rank}))
            _tell(rank, alone, block.operation)
        elif block.kind == "INCOMPLETE":
            rank.state = "silent"
        elif block.kind == "ERROR":
            rank.state, rank.error = "error", found[3] or block.error
        elif block.shares:
            block.shares[-1].named.add(rank.rank)
            _tell(rank, block.shares[-1].value, block.operation)

    def _settle(self) -> None:
        self._settle_shares()
        self._block = None

    def _settle_shares(self) -> None:
        """Name the majority: the ranks that are left when every other share was listed in full."""
        block = self._block
        if block is None:
            return
        shares, block.shares, size = block.shares, [], block.comm.size
        unnamed = [share for share in shares if not share.named]
        whole = all(len(share.named) == share.declared for share in shares if share.named)
        if size is None or len(unnamed) != 1 or not whole or self._derived + size > MOST_DERIVED:
            return
        self._derived += size
        listed = set().union(*(share.named for share in shares))
        gone = {r.rank for r in block.comm.ranks.values() if r.state in ("silent", "left") and r.rank not in listed}
        rest = set(range(size)) - listed - gone
        if len(rest) == unnamed[0].declared:
            for rank in sorted(rest):
                _tell(block.comm.at(rank), unnamed[0].value, block.operation)

    def finish(self) -> Report:
        self._settle()
        for comm in self.report.comms:
            for rank in comm.ranks.values():
                if rank.state == "silent" and (rank.host, rank.pid) in self._dead:
                    rank.state = "dead"
                elif rank.state is None:
                    rank.state = self._status.get(comm.comm)
        return self.report


def read_text(raw: bytes) -> Report:
    """Raises `ReportError` where it is no answer of RAS, or ended before its last section began.

    A last line without its newline is not read: it may be half of one.
    """
    if len(raw) > MOST_BYTES:
        raise ReportError(f"text of more than {MOST_BYTES >> 20} MB")
    reader = _Reader()
    text = raw.decode("utf-8", "replace").rpartition("\n")[0]
    for line in text.split("\n"):
        reader.line(line.strip())
    if not reader.ended:
        raise ReportError("the text of RAS ended before its section Warnings")
    return reader.finish()


def _value(status: str | None, nothing: str | None, count: str | None) -> int | MemberState | None:
    if status:
        return STATES[status]
    return 0 if nothing else int(count) if count else None


def _tell(rank: Rank, value: int | MemberState, operation: str | None) -> None:
    if isinstance(value, int):
        rank.counts[operation or ALL] = value
    elif rank.state != "error":
        rank.state = value


def _maybe(text: str | None) -> int | None:
    return int(text) if text else None
