"""The words of the straggler verdicts: whom they name, what they show, what the slow-down costs."""

import math
from collections.abc import Sequence

from collectors.contract.job import Placement
from streams.contract import Evidence, Finding, Severity, Subject
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import median

NAME = "straggler"


def rank_subject(state: StragglerState, rank: int) -> Subject:
    """A rank, with the node and GPU that carry it where they are known."""
    place: Placement | None = state.placement.get(rank)
    return Subject(
        kind="rank",
        id=f"{state.job}/{rank}",
        node=state.node_of(rank),
        job=state.job,
        rank=rank,
        gpu_uuid=None if place is None else place.gpu_uuid,
    )


def job_subject(state: StragglerState) -> Subject:
    """The job as a whole."""
    return Subject(kind="job", id=state.job, job=state.job)


def finding(
    limits: StragglerLimits,
    state: StragglerState,
    subject: Subject,
    ts_us: int,
    *,
    cause: str,
    severity: Severity,
    factor: float | None,
    summary: str,
    evidence: Sequence[Evidence],
    action: str | None = None,
) -> Finding:
    """A finding of this detector; its state is set when it is sent."""
    return Finding(
        cluster=state.cluster,
        ts_us=ts_us,
        detector=NAME,
        state="opened",
        subject=subject,
        episode_us=ts_us,
        severity=severity,
        cause=cause,
        value=factor,
        limit=None if factor is None else limits.effect,
        unit=None if factor is None else "ratio",
        summary=summary,
        evidence=list(evidence),
        jobs=[state.job],
        action=action,
    )


def rank_evidence(state: StragglerState, rank: int, peers: Sequence[int]) -> list[Evidence]:
    """Own compute and wait beside the peers', from the last judged steps. A slow rank computes longest and
    waits least."""
    others = [r for r in peers if r != rank]
    out = []
    for what, column in (("own compute", 0), ("wait", 1)):
        mine = _typical(state, [rank], column)
        theirs = _typical(state, others, column)
        if mine is not None:
            out.append(Evidence(what=f"{what} of rank {rank}, median", value=mine, unit="s"))
        if theirs is not None:
            out.append(Evidence(what=f"{what} of its {len(others)} peers, median", value=theirs, unit="s"))
    return out


def cost_evidence(state: StragglerState, rank: int, peers: Sequence[int]) -> list[Evidence]:
    """GPU-hours lost per hour = world size x (1 - 1/S), S = T / (T - (C_slow - C_peers)): exact for pure data
    parallelism, an upper bound under a pipeline."""
    step = _typical(state, peers, 2)
    mine = _typical(state, [rank], 0)
    theirs = _typical(state, [r for r in peers if r != rank], 0)
    if step is None or mine is None or theirs is None:
        return []
    excess = mine - theirs
    if not 0 < excess < step:
        return []
    world = max(len(state.placement), len(state.steps.last))
    return [
        Evidence(what="step time of the job, median", value=step, unit="s"),
        Evidence(
            what="GPU-hours lost per hour, estimate",
            value=lost_per_hour(world, step / (step - excess)),
            unit="GPU-h/h",
        ),
    ]


def lost_per_hour(world: int, slowdown: float) -> float:
    """GPU-hours that a job of `world` GPUs loses in an hour when its steps take `slowdown` times as long."""
    return world * (1 - 1 / slowdown)


def window_evidence(limits: StragglerLimits, window: int, sigma: float | None) -> list[Evidence]:
    """How the verdict was reached."""
    out = [Evidence(what="judged steps in the window", value=float(window), unit="steps")]
    if sigma is not None:
        out.append(Evidence(what="noise of the group before it, sigma of ln(ratio)", value=sigma, unit="ln"))
    return out


def percent(factor: float) -> str:
    """1.25 -> `25 %`."""
    return f"{(factor - 1) * 100:.0f} %"


def shift_factor(mu: float) -> float:
    """A natural logarithm as a factor."""
    return math.exp(mu)


def _typical(state: StragglerState, ranks: Sequence[int], column: int) -> float | None:
    values = [
        value
        for step in state.recent
        for rank in ranks
        if (entry := step.entries.get(rank)) is not None and (value := entry[column]) is not None
    ]
    return median(values) if values else None
