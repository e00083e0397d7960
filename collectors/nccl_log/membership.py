"""Lines in, members and placements out."""

from collections.abc import Iterator

from collectors.contract.job import CollectiveWindow, CommMember, JobEvent, Placement
from collectors.nccl.cut import cut
from collectors.nccl_log.line import InitComplete

MOST_MEMBERS = 1 << 20
"""Kept at a time: 16,384 ranks in 64 communicators each."""

Process = tuple[str, int, int]
"""Host, pid and CUDA's index: what is one rank."""


class Membership:
    """What one job's log has said so far of its communicators."""

    def __init__(self, *, cluster: str, job: str) -> None:
        self._cluster = cluster
        self._job = job
        self._comms: dict[str, dict[int, InitComplete]] = {}
        self._in: dict[Process, set[str]] = {}
        """Process -> the communicators that it is in."""
        self._on: dict[tuple[str, str], Process] = {}
        """Host and GPU -> who uses it."""
        self._fresh: dict[str, list[InitComplete]] = {}
        self._members = 0
        self._unnamed_size = 0
        """Of the largest communicator that was split off: its line does not say which it is."""
        self._placed: str | None = None
        self.dropped = 0

    def add(self, line: InitComplete) -> None:
        """One more rank. A process on a GPU that another one used ends what that one was part of: a new attempt."""
        process = (line.host, line.pid, line.gpu)
        gpu = (line.host, line.pci or f"cuda {line.gpu}")
        before = self._on.setdefault(gpu, process)
        if before != process:
            for comm in self._in.get(before, set()).copy():
                self._forget(comm)
            self._on[gpu] = process
        if line.comm is None:
            self._unnamed_size = max(self._unnamed_size, line.size)
            return
        ranks = self._comms.setdefault(line.comm, {})
        if ranks.get(line.rank) == line:
            return
        if line.rank not in ranks:
            if self._members >= MOST_MEMBERS:
                self.dropped += 1
                return
            self._members += 1
        ranks[line.rank] = line
        self._in.setdefault(process, set()).add(line.comm)
        self._fresh.setdefault(line.comm, []).append(line)

    def news(self, ts_us: int) -> Iterator[CollectiveWindow]:
        """Members that were not told before, a window a communicator without rows."""
        fresh, self._fresh = self._fresh, {}
        for comm, lines in fresh.items():
            yield from cut(
                CollectiveWindow(
                    cluster=self._cluster,
                    ts_us=ts_us,
                    job=self._job,
                    node=lines[0].host,
                    source="nccl-log",
                    comm=comm,
                    comm_size=lines[0].size,
                    comm_nodes=self._nodes(comm),
                    members=[_member(line) for line in lines],
                    rank=[],
                    seq=[],
                    coll=[],
                )
            )

    def sizes(self) -> dict[str, int]:
        """Ranks of each communicator, as its lines say."""
        return {comm: _size(ranks) for comm, ranks in self._comms.items() if ranks}

    def lacks(self) -> str:
        """Why the job cannot be placed from what was told; empty: it can.

        A communicator's ranks are the job's only where it is all of the job: no line tells which one that is. It is
        the one that has every process that was seen, and none is seen in part only, or this log is of a part.
        """
        sizes = self.sizes()
        if not sizes:
            return "a communicator by name"
        partial = {comm: size - len(self._comms[comm]) for comm, size in sizes.items() if size > len(self._comms[comm])}
        if partial:
            comm = max(partial, key=lambda one: partial[one])
            more = f", and ranks of {len(partial) - 1} others" if len(partial) > 1 else ""
            return f"{partial[comm]} ranks of communicator {comm}{more}"
        if self._unnamed_size > len(self._in):
            return f"a communicator of {self._unnamed_size} ranks by name, {len(self._in)} processes are known"
        if max(sizes.values()) < len(self._in):
            return f"a communicator of all {len(self._in)} processes: the largest has {max(sizes.values())}"
        return ""

    def placement(self, ts_us: int) -> JobEvent | None:
        """Where the job's ranks are, once nothing lacks; None before, and where it was told."""
        if self.lacks():
            return None
        sizes = self.sizes()
        whole = max(reversed(sizes), key=lambda comm: sizes[comm])
        if whole == self._placed:
            return None
        self._placed = whole
        ranks = self._comms[whole]
        return JobEvent(
            cluster=self._cluster,
            ts_us=ts_us,
            job=self._job,
            kind="placed",
            source="nccl-log",
            # CUDA's index is the process's own; NVML's is the node's.
            placement=[Placement(rank=n, node=ranks[n].host, gpu_index=ranks[n].nvml) for n in sorted(ranks)],
        )

    def _forget(self, comm: str) -> None:
        for line in self._comms.pop(comm, {}).values():
            self._members -= 1
            process = (line.host, line.pid, line.gpu)
            comms = self._in.get(process, set())
            comms.discard(comm)
            if not comms:
                self._in.pop(process, None)

    def _nodes(self, comm: str) -> int | None:
        ranks = self._comms.get(comm, {})
        return len({line.host for line in ranks.values()}) if ranks and len(ranks) == _size(ranks) else None


def _size(ranks: dict[int, InitComplete]) -> int:
    return next(iter(ranks.values())).size


def _member(line: InitComplete) -> CommMember:
    return CommMember(
        rank=line.rank, host=line.host, pid=line.pid, gpu=line.gpu, nvml=line.nvml, pci=line.pci, state="ready"
    )
