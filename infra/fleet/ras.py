"""What NCCL's RAS answers of a simulated job: how many operations each rank of each communicator has launched."""

from collections import defaultdict
from collections.abc import Iterator

from collectors.contract.job import CollectiveWindow, CommMember
from infra.fleet.inspector import COLLECTIVE
from infra.fleet.rank import Member, pid
from infra.fleet.run import Run

POLL_S = 30.0
DEAD = ("process_dead", "node_down", "rack_down")
"""Kinds of faults that end a process."""
_PARTS = 64
"""Collectives of a step inside a tensor-parallel group: a round number, of which only the order matters."""


def polls(run: Run, ts_us: int, cluster: str) -> Iterator[CollectiveWindow]:
    """One window a communicator.

    A rank that is gone has not launched what its tensor-parallel partners wait for inside the step, and its whole
    replica does not come to the gradients' collective, in which the other replicas wait.
    """
    job = run.job
    if job is None:
        return
    gone = {job.members[rank] for rank in run.gone} if run.hung else set()
    late = {member.dp for member in gone}
    reduces: dict[tuple[int, int], list[Member]] = defaultdict(list)
    insides: dict[tuple[int, int], list[Member]] = defaultdict(list)
    for member in job.members:
        reduces[member.pp, member.tp].append(member)
        insides[member.pp, member.dp].append(member)
    step, hung = run.next_step, run.hung
    for place, some in reduces.items():
        launched = [step + (1 if hung and member.dp not in late else 0) for member in some]
        yield _window(run, ts_us, cluster, job.groups[place][0], some, [member.dp for member in some], launched)
    for place, some in insides.items() if job.plan.tp > 1 else ():
        # In the middle of a step, where one is missing; else at its end.
        held = [member for member in gone if (member.pp, member.dp) == place]
        part = _PARTS // 2 if held else _PARTS if hung else 0
        launched = [step * _PARTS + part - (1 if member in held else 0) for member in some]
        name = job.inside(some[0])
        yield _window(run, ts_us, cluster, name, some, [member.tp for member in some], launched)


def _window(
    run: Run, ts_us: int, cluster: str, comm: str, members: list[Member], ranks: list[int], launched: list[int]
) -> CollectiveWindow:
    name = run.plan.name
    return CollectiveWindow(
        cluster=cluster,
        ts_us=ts_us,
        job=name,
        node=members[0].slot.node,
        source="nccl-ras",
        comm=comm,
        comm_size=len(members),
        comm_nodes=len({member.slot.node for member in members}),
        members=[
            CommMember(
                rank=rank,
                host=m.slot.node,
                pid=pid(name, run.attempt, m.rank),
                gpu=m.slot.index,
                nvml=m.slot.index,
                pci=m.slot.pci,
                state="dead" if run.hung and run.absent.get(m.rank) in DEAD else "ready",
            )
            for rank, m in zip(ranks, members, strict=True)
        ],
        rank=list(ranks),
        seq=list(launched),
        coll=[COLLECTIVE] * len(members),
    )
