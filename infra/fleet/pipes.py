"""Sends and receives between the stages of a pipeline, as the NCCL Inspector records them: one a direction and step."""

from collectors.contract.job import CollectiveWindow
from infra.fleet.job import ALGBW_GBS, Job
from infra.fleet.noise import stream
from infra.fleet.rank import Member, pid
from infra.fleet.step import Step

NVLINK_TIMES = 0.2
"""Inside a node a transfer takes this much of the time over NICs."""
BF16_BYTES = 2


def windows(job: Job, step: Step, seed: int, cluster: str) -> list[CollectiveWindow]:
    """Each rank's own. Activations go to the next stage, gradients come back.

    The slowest stage of a replica sets its pace: those behind it wait for its activations, those before it for its
    gradients, and it waits for nobody.
    """
    plan = job.plan
    if plan.pp == 1:
        return []
    rng = stream(seed, "pipes", plan.name, job.attempt, step.number)
    row_of = {(m.dp, m.tp, m.pp): row for row, m in enumerate(step.members)}
    slowest: dict[int, tuple[float, int]] = {}
    for row, m in enumerate(step.members):
        slowest[m.dp] = min(slowest.get(m.dp, (step.wait_s[row], m.pp)), (step.wait_s[row], m.pp))
    size = plan.seq_len * plan.heads * plan.head_dim * BF16_BYTES
    out: list[CollectiveWindow] = []
    for row, m in enumerate(step.members):
        least_s, slow = slowest[m.dp]
        waits_us = (step.wait_s[row] - least_s) / plan.microbatches * 1e6
        rows: list[tuple[str, int, float, float]] = []
        for peer in (m.pp - 1, m.pp + 1):
            other = row_of.get((m.dp, m.tp, peer))
            if other is None:
                continue
            for kind in ("Send", "Recv"):
                way_us = _way_us(size, m, step.members[other], max(step.cable[row], step.cable[other]))
                way_us *= rng.lognormvariate(0.0, 0.02)
                # Of a whole step the fastest operation counts: the waits come on top of it.
                waits = kind == "Recv" and (m.pp > slow) == (peer < m.pp) and m.pp != slow
                rows.append((kind, peer, way_us, way_us + (waits_us if waits else 0.0)))
        out.append(_window(job, step, m, size, rows, cluster))
    return out


def _way_us(size: int, m: Member, other: Member, times: float) -> float:
    alone_us = size / ALGBW_GBS / 1e3
    return alone_us * (times if m.slot.node != other.slot.node else NVLINK_TIMES)


def _window(
    job: Job, step: Step, m: Member, size: int, rows: list[tuple[str, int, float, float]], cluster: str
) -> CollectiveWindow:
    return CollectiveWindow(
        cluster=cluster,
        ts_us=step.end_us,
        job=step.job,
        node=m.slot.node,
        comm=job.pipe(m),
        comm_size=job.plan.pp,
        comm_name="pp",
        pid=pid(job.plan.name, job.attempt, m.rank),
        rank=[m.pp] * len(rows),
        seq=[step.number] * len(rows),
        coll=[kind for kind, _, _, _ in rows],
        bytes=[size] * len(rows),
        exec_us=[round(exec_us, 3) for _, _, _, exec_us in rows],
        algbw_gbs=[round(size / exec_us / 1e3, 6) for _, _, _, exec_us in rows],
        busbw_gbs=[round(size / exec_us / 1e3, 6) for _, _, _, exec_us in rows],
        timing=["kernel_gpu"] * len(rows),
        peer=[peer for _, peer, _, _ in rows],
    )
