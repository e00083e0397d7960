"""Lines in, members and placements out."""

from collections.abc import Iterator

from collectors.contract.job import CollectiveWindow, CommMember, JobEvent, Placement
from collectors.nccl.cut import cut
from collectors.nccl_log.line import InitComplete

MOST_MEMBERS = 1 << 20
"""Kept at a time: 16,384 ranks in 64 communicators each."""


class Membership:
    """What one job's log has said so far of its communicators."""

    def __init__(self, *, cluster: str, job: str) -> None:
        self._cluster = cluster
        self._job = job
        self._comms: dict[str, dict[int, InitComplete]] = {}
        self._fresh: dict[str, list[InitComplete]] = {}
        self._members = 0
        self._placed: str | None = None
        self.unnamed = 0
        """Lines whose communicator has no name of its own, for it was split off."""
        self.dropped = 0

    def add(self, line: InitComplete) -> None:
        """One more rank. A rank that is told again, by a restarted process, replaces what was told."""
        if line.comm is None:
            self.unnamed += 1
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

    def placement(self, ts_us: int) -> JobEvent | None:
        """Where the job's ranks are, once all of its largest communicator are known: that is the whole job.

        None while one is missing, or where it was told before. With a log of one node of many it never comes.
        """
        sizes, whole = self.sizes(), self._largest()
        if whole is None or whole == self._placed or len(self._comms[whole]) < sizes[whole]:
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

    def sizes(self) -> dict[str, int]:
        """Ranks of each communicator, as its lines say."""
        return {comm: self._size(comm) for comm in self._comms}

    def missing(self) -> int:
        """Ranks of the largest communicator that have not been told."""
        sizes, whole = self.sizes(), self._largest()
        return sizes[whole] - len(self._comms[whole]) if whole is not None else 0

    def _largest(self) -> str | None:
        """Of several as large, the last that began: a job that was started again makes its communicators anew."""
        return max(reversed(self._comms), key=self._size, default=None)

    def _size(self, comm: str) -> int:
        return next(iter(self._comms[comm].values())).size

    def _nodes(self, comm: str) -> int | None:
        ranks = self._comms[comm]
        return len({line.host for line in ranks.values()}) if len(ranks) == self._size(comm) else None


def _member(line: InitComplete) -> CommMember:
    return CommMember(
        rank=line.rank, host=line.host, pid=line.pid, gpu=line.gpu, nvml=line.nvml, pci=line.pci, state="ready"
    )
