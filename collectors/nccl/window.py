"""Records of one flush, as one window per communicator and process."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from collectors.contract.job import CollectiveWindow
from collectors.nccl.cut import cut
from collectors.nccl.record import Communicator, Lost, Record

T = TypeVar("T")


def windows(
    records: Iterable[Record | Lost], *, cluster: str, job: str, node: str | None, this_node: str
) -> list[CollectiveWindow]:
    """Column-wise, in the order of the files. The process stays apart, for it leads from the communicator's rank to
    the job's. `node` None takes the host that the record names, else `this_node`."""
    groups: dict[Communicator, list[Record]] = {}
    lost: dict[Communicator, list[Lost]] = {}
    for record in records:
        rows = groups.setdefault(record.of, [])
        if isinstance(record, Lost):
            lost.setdefault(record.of, []).append(record)
        else:
            rows.append(record)
    return [
        piece
        for of, rows in groups.items()
        for piece in _window(of, rows, lost.get(of, []), cluster, job, node or of.host or this_node)
    ]


def _window(
    of: Communicator, rows: list[Record], lost: list[Lost], cluster: str, job: str, node: str
) -> Iterable[CollectiveWindow]:
    window = CollectiveWindow(
        cluster=cluster,
        ts_us=max([*(row.ts_us for row in rows), *(one.ts_us for one in lost)]),
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
        peer=_sent([row.peer for row in rows]),
        algo=_sent([row.algo for row in rows]),
        created_us=_sent([row.created_us for row in rows]),
        started_us=_sent([row.started_us for row in rows]),
        completed_us=_sent([row.completed_us for row in rows]),
    )
    dropped = sum(one.dropped for one in lost) if lost else None
    for i, piece in enumerate(cut(window)):
        # What was lost is counted once, in the first piece.
        yield msgspec.structs.replace(piece, dropped=dropped) if i == 0 else piece


def _sent(values: list[T]) -> list[T]:
    """A column that no record has is left out."""
    return values if any(value is not None for value in values) else []
