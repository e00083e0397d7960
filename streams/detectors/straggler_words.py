"""What is said of suspects: a slow GPU, a slow host, a pair that parted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streams.contract import Confidence, Evidence, Finding, Severity, Subject
from streams.detectors.straggler_cost import (
    Cost,
    compute_of,
    cost_of,
    excess,
    host_of,
    typical,
    wait_of,
)
from streams.detectors.straggler_findings import (
    finding,
    named,
    percent,
    rank_evidence,
    rank_subject,
    window_evidence,
)
from streams.detectors.straggler_groups import PeerGroup
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import By, StragglerState, Suspect

LONG: dict[By, str] = {"compute": "own compute", "host": "compute and host time"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rank that passed the test in this step."""

    rank: int
    factor: float
    window: int
    sigma: float | None
    group: PeerGroup
    base: float | None = None
    """ln(compute) of its own past, where that accuses it and not its peers."""
    sure: bool = True
    """False: one of two parted, and its own past does not say which."""
    by: By = "compute"
    host: bool | None = None
    """Whether it is its host that is slow; None: the host tells nothing of itself."""
    waits_told: bool = True
    past_told: bool = True
    """False: one of two that are apart since the start, so that only the longer one can be called slow."""


def rank_slow(limits: StragglerLimits, state: StragglerState, c: Candidate, ts_us: int) -> Finding:
    """One rank, and nothing that speaks against its GPU."""
    subject = rank_subject(state, c.rank)
    where = "" if subject.node is None else f" on {subject.node}"
    peers = c.group.ranks if len(c.group.ranks) > 1 else ()
    beside = {0: "in its own past", 2: "its only peer"}.get(len(peers), f"its {len(peers) - 1} peers")
    if c.base is not None and peers:
        beside = "in its own past, as do most of its peers"
    host = c.host or c.by == "host"
    severity, confidence, doubt = _belief(state, c)
    return finding(
        limits,
        state,
        subject,
        ts_us,
        cause="host_slow" if host else "gpu_slow",
        severity=severity,
        factor=c.factor,
        summary=f"rank {c.rank} of {state.job}{where} {_does(c)} {c.factor:.2f} times as long as {beside}",
        evidence=[
            *rank_evidence(state, c.rank, peers or (c.rank,), c.window),
            *doubt,
            *_host_evidence(c),
            *_share_evidence(state, c),
            *window_evidence(c.window, c.sigma),
        ],
        action=(
            "look at this rank's host: CPU contention, data loader, storage"
            if host
            else "look at this GPU's clocks, throttle reasons and errors; move the rank if it stays slow"
        ),
        confidence=confidence,
        cost=_cost(state, c),
    )


def host_slow(
    limits: StragglerLimits,
    state: StragglerState,
    node: str,
    slow: Mapping[int, Suspect],
    c: Candidate,
    ts_us: int,
) -> Finding:
    """Several ranks of one node, or one whose host's own times are long."""
    factor = max(s.factor for s in slow.values())
    names = named(sorted(slow))
    ranks = f"{len(slow)} ranks" if len(slow) > 1 else f"rank {names}"
    words = f"{ranks} of {state.job} on {node} {'are' if len(slow) > 1 else 'is'} slow, up to {percent(factor)}"
    if len(slow) > 1:
        words += f": {names}"
    if c.host:
        words += "; the host's own times are long"
    severity, confidence, doubt = _belief(state, c)
    return finding(
        limits,
        state,
        Subject(kind="node", id=node, node=node, job=state.job),
        ts_us,
        cause="host_slow",
        severity=severity,
        factor=factor,
        summary=words,
        evidence=[
            Evidence(what=f"slow ranks on the node: {names}", value=float(len(slow)), unit="ranks"),
            *rank_evidence(state, c.rank, c.group.ranks, c.window),
            *doubt,
            *_share_evidence(state, c),
            *window_evidence(c.window, c.sigma),
        ],
        action="look at the host: CPU contention, data loader, power, the GPUs that it has in common",
        confidence="medium" if len(slow) > 1 and not doubt else confidence,
        cost=_cost(state, c),
    )


def pair_parted(limits: StragglerLimits, state: StragglerState, c: Candidate, ts_us: int) -> Finding:
    """One of two peers is slow against the other, and neither is known to have changed."""
    return finding(
        limits,
        state,
        rank_subject(state, c.rank),
        ts_us,
        cause="pair_divergence",
        severity="info",
        factor=c.factor,
        summary=(
            f"rank {c.rank} of {state.job} computes {c.factor:.2f} times as long as its only peer; "
            "its own past does not say which of the two changed"
        ),
        evidence=[
            *rank_evidence(state, c.rank, c.group.ranks, c.window),
            *window_evidence(c.window, c.sigma),
        ],
        confidence="low",
        cost=_cost(state, c),
    )


def _does(c: Candidate) -> str:
    return "computes" if c.by == "compute" else "takes, with its host's work and waiting for data,"


def _belief(state: StragglerState, c: Candidate) -> tuple[Severity, Confidence, Sequence[Evidence]]:
    """A rank that computes longest waits least; one that waits longer as well holds nobody up, or is measured badly."""
    what = compute_of if c.by == "compute" else host_of
    further = excess(state, c.rank, c.group.ranks, what, c.window)
    wait = excess(state, c.rank, c.group.ranks, wait_of, c.window)
    if c.base is None and wait is not None and further is not None and further > 0 and wait > further / 2:
        return "warning", "low", [Evidence(what="it waits longer than its peers as well, by", value=wait, unit="s")]
    sure = c.host is not None and c.waits_told and c.past_told
    return "critical", "medium" if sure else "low", []


def _host_evidence(c: Candidate) -> list[Evidence]:
    out = []
    if c.host is None:
        out.append(Evidence(what="the job tells no time of its hosts, so a slow host cannot be ruled out"))
    if not c.past_told:
        out.append(Evidence(what="slower than its only peer since the first judged steps; none of the two changed"))
    return out


def _share_evidence(state: StragglerState, c: Candidate) -> list[Evidence]:
    """Severity = excess x the share of steps that waited for this rank."""
    if c.base is not None:
        return []
    tops = list((c.group.compute if c.by == "compute" else c.group.host).tops)[-c.window :]
    share = sum(rank == c.rank for rank, _ in tops) / len(tops)
    return [
        Evidence(what="share of these steps in which it was the slowest", value=share, unit="fraction"),
        Evidence(what="severity, excess x that share", value=(c.factor - 1) * share, unit="fraction"),
    ]


def _cost(state: StragglerState, c: Candidate) -> Cost | None:
    steps = min(c.window, 5)
    if c.base is None:
        further = excess(state, c.rank, c.group.ranks, compute_of if c.by == "compute" else host_of, steps)
    else:
        now = typical(state, [c.rank], compute_of, steps)
        further = None if now is None else now * (1 - 1 / c.factor)
    return cost_of(state, c.group.ranks, further, steps)
