"""A dump as one window a process group."""

import hashlib
from collections.abc import Iterator

from collectors.contract.job import CollectiveWindow
from collectors.contract.ranks import pack_ranks
from collectors.flight_recorder.recorded import Dump, Entry, Group
from collectors.nccl.cut import cut

DEFAULT_GROUP = "default_pg"
MOST_TEXT = 100_000
"""Of `comm_ranks`: 16,384 ranks in no order at all. Kafka takes 1 MB a message."""


def windows(
    dump: Dump, *, cluster: str, job: str, node: str, job_rank: int, ts_us: int, last: int | None = None
) -> Iterator[CollectiveWindow]:
    """Entries in the order they were recorded; of each group the `last` newest and all that have not completed.

    A group without an entry has a window too where it says how far it came, or that this rank belongs to it.
    """
    of: dict[str, list[Entry]] = {name: [] for name in dump.groups}
    for entry in dump.entries:
        of[entry.group].append(entry)
    for name, group in dump.groups.items():
        entries, kept = of[name], 0 if last is None else max(0, len(of[name]) - last)
        old = [entry for entry in entries[:kept] if entry.state != "completed"]
        yield from cut(_window(group, [*old, *entries[kept:]], cluster, job, node, job_rank, ts_us))


def communicator(group: Group) -> str:
    """The same on every rank of the group: its name, which may stand for several groups of one job, and its ranks."""
    ranks = pack_ranks(sorted(group.ranks)) if group.ranks is not None else ""
    return "pg:" + hashlib.sha256(f"{group.name}\n{ranks}".encode("utf-8", "replace")).hexdigest()[:16]


def rank_in(group: Group, job_rank: int) -> int | None:
    """The rank inside the group; None where the dump does not tell. In the default group it is the job's."""
    if group.ranks is None:
        return job_rank if group.desc == DEFAULT_GROUP else None
    return group.ranks.index(job_rank) if job_rank in group.ranks else None


def _window(
    group: Group, entries: list[Entry], cluster: str, job: str, node: str, job_rank: int, ts_us: int
) -> CollectiveWindow:
    rank = rank_in(group, job_rank)
    ranks = pack_ranks(group.ranks) if group.ranks is not None else None
    return CollectiveWindow(
        cluster=cluster,
        ts_us=ts_us,
        job=job,
        node=node,
        source="flight-recorder",
        comm=communicator(group),
        comm_size=len(group.ranks) if group.ranks is not None else None,
        comm_name=group.desc if group.desc not in (None, "", "undefined") else group.name,
        comm_ranks=ranks if ranks is not None and len(ranks) <= MOST_TEXT else None,
        job_rank=job_rank,
        last_enqueued=group.status.get("enqueued"),
        last_started=group.status.get("started"),
        last_completed=group.status.get("completed"),
        rank=[rank] * len(entries),
        seq=[entry.seq for entry in entries],
        coll=[entry.coll for entry in entries],
        bytes=[entry.bytes for entry in entries],
        exec_us=[entry.exec_us for entry in entries],
        peer=[entry.peer for entry in entries] if any(entry.peer is not None for entry in entries) else [],
        state=[entry.state for entry in entries],
        op_id=[entry.op_id for entry in entries],
        created_us=[entry.created_us for entry in entries],
        started_us=[entry.started_us for entry in entries],
        completed_us=[entry.completed_us for entry in entries],
        dtype=[entry.dtype for entry in entries],
    )
