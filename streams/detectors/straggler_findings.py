"""The form of every straggler finding: whom it names, what it shows, what it costs."""

from collections.abc import Sequence

from collectors.contract.job import Placement
from streams.contract import Candidate, Confidence, Evidence, Finding, Severity, Subject
from streams.detectors.straggler_cost import Cost, compute_of, cpu_of, data_of, others, typical, wait_of
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState

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
    confidence: Confidence | None = None,
    cost: Cost | None = None,
    candidates: Sequence[Candidate] = (),
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
        evidence=[*evidence, *([] if cost is None else cost.evidence())],
        jobs=[state.job],
        action=action,
        confidence=confidence,
        slowdown=None if cost is None else cost.slowdown,
        gpu_hours_lost_per_hour=None if cost is None else cost.gpu_hours_lost_per_hour,
        candidates=list(candidates),
    )


def rank_evidence(state: StragglerState, rank: int, ranks: Sequence[int], steps: int) -> list[Evidence]:
    """Own compute, host and wait beside the peers', from the last judged steps. A slow rank computes longest and
    waits least."""
    peers = others(rank, ranks)
    beside = "its only peer" if len(ranks) <= 2 else f"its {len(ranks) - 1} peers"
    out = []
    for what, cell in (
        ("own compute", compute_of),
        ("data wait", data_of),
        ("host work", cpu_of),
        ("wait", wait_of),
    ):
        mine = typical(state, [rank], cell, steps)
        theirs = typical(state, peers, cell, steps)
        if mine is not None:
            out.append(Evidence(what=f"{what} of rank {rank}, median", value=mine, unit="s"))
        if theirs is not None:
            out.append(Evidence(what=f"{what} of {beside}, median", value=theirs, unit="s"))
    return out


def window_evidence(window: int, sigma: float | None) -> list[Evidence]:
    """How the verdict was reached."""
    out = [Evidence(what="judged steps in the window", value=float(window), unit="steps")]
    if sigma is not None:
        out.append(Evidence(what="noise of the group before it, sigma of ln(ratio)", value=sigma, unit="ln"))
    return out


def percent(factor: float) -> str:
    """1.25 -> `25 %`."""
    return f"{(factor - 1) * 100:.0f} %"


def named(ranks: Sequence[int]) -> str:
    """The first of some ranks: `1, 2, 3 ...`."""
    return ", ".join(str(r) for r in ranks[:8]) + (" ..." if len(ranks) > 8 else "")
