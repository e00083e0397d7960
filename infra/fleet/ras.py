"""What NCCL's RAS answers of a simulated job: how many operations each rank of each communicator has launched."""

from collections import defaultdict
from collections.abc import Iterator

from collectors.contract.job import CollectiveWindow, CommMember
from infra.fleet.inspector import COLLECTIVE
from infra.fleet.job import pid
from infra.fleet.run import Run

POLL_S = 30.0


def polls(run: Run, ts_us: int, cluster: str) -> Iterator[CollectiveWindow]:
    """One window a communicator. Ranks that take part have launched the step in flight, absent ones have not."""
    job = run.job
    if job is None:
        return
    name = job.plan.name
    rows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, member in enumerate(job.members):
        rows[member.pp, member.tp].append(row)
    held = {(m.pp, m.tp) for m in job.members if m.rank in run.absent}
    for place, (comm, nodes) in job.groups.items():
        members = [job.members[row] for row in rows[place]]
        # A pipeline stage that waits for the ring of an absent rank has launched its own.
        launched = run.next_step + (1 if run.hung and (place in held or not held) else 0)
        yield CollectiveWindow(
            cluster=cluster,
            ts_us=ts_us,
            job=name,
            node=members[0].slot.node,
            source="nccl-ras",
            comm=comm,
            comm_size=job.replicas,
            comm_nodes=nodes,
            members=[
                CommMember(
                    rank=m.dp,
                    host=m.slot.node,
                    pid=pid(name, run.attempt, m.rank),
                    gpu=m.slot.index,
                    nvml=m.slot.index,
                    pci=m.slot.pci,
                    state="dead" if run.absent.get(m.rank) == "process_dead" else "ready",
                )
                for m in members
            ],
            rank=[m.dp for m in members],
            seq=[launched - (1 if m.rank in run.absent else 0) for m in members],
            coll=[COLLECTIVE] * len(members),
        )
