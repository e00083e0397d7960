"""A report as one window a communicator."""

from collections.abc import Iterator

from collectors.contract.job import CollectiveWindow, CommMember
from collectors.nccl.cut import cut
from collectors.nccl_ras.report import Comm, Rank, Report


def windows(report: Report, *, cluster: str, job: str, node: str, ts_us: int) -> Iterator[CollectiveWindow]:
    """A row a rank and kind of operation that anybody in the communicator has launched; a member for each rank.

    A rank that has launched none of a kind, where others have, has a row with 0. A rank that did not answer has no row.
    """
    for comm in report.comms:
        yield from cut(_window(comm, cluster, job, node, ts_us))


def _window(comm: Comm, cluster: str, job: str, node: str, ts_us: int) -> CollectiveWindow:
    ranks = [comm.ranks[number] for number in sorted(comm.ranks)]
    launched = sorted({kind for rank in ranks for kind, count in rank.counts.items() if count})
    rows = [(rank.rank, kind, rank.counts[kind]) for kind in launched for rank in ranks if kind in rank.counts]
    return CollectiveWindow(
        cluster=cluster,
        ts_us=ts_us,
        job=job,
        node=node,
        source="nccl-ras",
        comm=comm.comm,
        comm_size=comm.size,
        comm_nodes=comm.nodes,
        members=[_member(rank) for rank in ranks],
        rank=[rank for rank, _, _ in rows],
        seq=[count for _, _, count in rows],
        coll=[kind for _, kind, _ in rows],
    )


def _member(rank: Rank) -> CommMember:
    return CommMember(
        rank=rank.rank,
        host=rank.host,
        pid=rank.pid,
        gpu=rank.gpu,
        nvml=rank.nvml,
        state=rank.state,
        error=rank.error,
    )
