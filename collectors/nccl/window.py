"""Records of one flush, as one window per communicator and process."""

from collections.abc import Iterable

from collectors.contract.job import CollectiveWindow
from collectors.nccl.record import Communicator, Record

ROWS_A_WINDOW = 4000
"""About 400 KB of JSON: Kafka takes 1 MB."""


def windows(
    records: Iterable[Record], *, cluster: str, job: str, node: str | None, this_node: str
) -> list[CollectiveWindow]:
    """Column-wise, in the order of the files. The process stays apart, for it leads from the communicator's rank to
    the job's. `node` None takes the host that the record names, else `this_node`."""
    groups: dict[Communicator, list[Record]] = {}
    for record in records:
        groups.setdefault(record.of, []).append(record)
    return [
        _window(of, rows[i : i + ROWS_A_WINDOW], cluster, job, node or of.host or this_node)
        for of, rows in groups.items()
        for i in range(0, len(rows), ROWS_A_WINDOW)
    ]


def _window(of: Communicator, rows: list[Record], cluster: str, job: str, node: str) -> CollectiveWindow:
    return CollectiveWindow(
        cluster=cluster,
        ts_us=max(row.ts_us for row in rows),
        job=job,
        node=node,
        comm=of.comm,
        comm_size=of.size,
        comm_nodes=of.nodes,
        comm_name=of.name,
        pid=of.pid,
        rank=[row.rank for row in rows],
        seq=[row.seq for row in rows],
        coll=[row.coll for row in rows],
        bytes=[row.bytes for row in rows],
        exec_us=[row.exec_us for row in rows],
        algbw_gbs=[row.algbw_gbs for row in rows],
        busbw_gbs=[row.busbw_gbs for row in rows],
        timing=[row.timing for row in rows],
        peer=[row.peer for row in rows] if any(row.peer is not None for row in rows) else [],
    )
