"""What PyTorch's flight recorder dumps of a simulated job that hangs: how far each rank came in each of its groups."""

import hashlib
from collections.abc import Iterator

from collectors.contract.job import CollectiveWindow, OperationState
from collectors.contract.ranks import pack_ranks
from infra.fleet.inspector import COLLECTIVE
from infra.fleet.job import Job
from infra.fleet.rank import Member
from infra.fleet.ras import DEAD
from infra.fleet.run import Run

KEPT = 3
"""Operations of a group that have ended and are still in the buffer."""


def dumps(run: Run, ts_us: int, cluster: str) -> Iterator[CollectiveWindow]:
    """Two windows a living rank: the gradients' group, and the tensor-parallel one inside the step.

    All that are at the gradients' collective have started it. The replica of a rank that is gone has not called it:
    the partners of that rank wait for it in their own group.
    """
    job = run.job
    if job is None:
        return
    gone = {job.members[rank] for rank in run.gone}
    late = {member.dp for member in gone}
    held = {(member.pp, member.dp) for member in gone}
    for member in job.members:
        if run.absent.get(member.rank) in DEAD:
            continue
        reducing = not run.idle and member.dp not in late
        inside = not run.idle and member not in gone and (member.pp, member.dp) in held
        reduces = [m for m in job.members if (m.pp, m.tp) == (member.pp, member.tp)]
        yield _window(run, job, member, reduces, "dp", reducing, ts_us, cluster)
        if job.plan.tp > 1:
            partners = [m for m in job.members if (m.pp, m.dp) == (member.pp, member.dp)]
            yield _window(run, job, member, partners, "tp", inside, ts_us, cluster)


def _window(
    run: Run, job: Job, member: Member, group: list[Member], name: str, waits: bool, ts_us: int, cluster: str
) -> CollectiveWindow:
    ranks = [m.rank for m in group]
    place = group.index(member)
    done = list(range(max(1, run.next_step - KEPT + 1), run.next_step + 1))
    seqs = [*done, run.next_step + 1] if waits else done
    states: list[OperationState | None] = ["completed"] * len(done)
    if waits:
        states.append("started")
    packed = pack_ranks(ranks)
    last = run.next_step
    return CollectiveWindow(
        cluster=cluster,
        ts_us=ts_us,
        job=job.plan.name,
        node=member.slot.node,
        source="flight-recorder",
        comm="pg:" + hashlib.sha256(f"{name}\n{packed}".encode()).hexdigest()[:16],
        comm_size=len(group),
        comm_name=name,
        comm_ranks=packed,
        job_rank=member.rank,
        last_enqueued=last + waits,
        last_started=last + waits,
        last_completed=last,
        rank=[place] * len(seqs),
        seq=list(seqs),
        coll=[COLLECTIVE] * len(seqs),
        state=states,
        created_us=[run.hung_us - (0 if seq > last else 1_000_000 * (last - seq + 1)) for seq in seqs],
    )
