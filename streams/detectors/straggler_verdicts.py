"""From suspects to findings: one rank, a host, a pair that parted, and the way back."""

import math
from collections import defaultdict
from dataclasses import dataclass

from streams.contract import Evidence, Finding, Subject
from streams.detectors.straggler_findings import (
    cost_evidence,
    finding,
    percent,
    rank_evidence,
    rank_subject,
    window_evidence,
)
from streams.detectors.straggler_groups import PeerGroup
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState, Suspect
from streams.detectors.straggler_statistic import level_shift, median, slow_window
from streams.episodes import Damping


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rank that passed the test in this step."""

    rank: int
    factor: float
    window: int
    sigma: float | None
    group: PeerGroup
    base: float | None = None
    sure: bool = True
    """False: one of two parted, and its own past does not say which."""


def look(limits: StragglerLimits, state: StragglerState, group: PeerGroup) -> list[Candidate]:
    """The ranks of a group that are newly slow against their peers, after a judged step."""
    longest_quiet = max((1 - limits.share_of(n)) * n for n in limits.windows)
    out = []
    for rank in group.steps[-1]:
        if rank in state.kept.suspects or group.quiet[rank] > longest_quiet:
            continue
        slow = slow_window(limits, group.ratios[rank], lambda n, r=rank: group.noise(limits, r, n))  # type: ignore[misc]
        if slow is None:
            continue
        sure = len(group.ranks) > 2 or _left_its_past(limits, group, rank, slow.window)
        out.append(Candidate(rank, slow.factor, slow.window, slow.sigma, group, sure=sure))
    return out


def look_alone(limits: StragglerLimits, state: StragglerState, alone: list[PeerGroup]) -> list[Candidate]:
    """Ranks without peers that left their own past. When most of them did at once it is the job, not a rank."""
    out = []
    for group in alone:
        rank = group.ranks[0]
        if rank in state.kept.suspects:
            continue
        shift = level_shift(limits, group.own.get(rank, []))
        if shift is not None:
            out.append(Candidate(rank, math.exp(shift.mu), limits.shift_steps, None, group, base=shift.base))
    return [] if len(alone) > 1 and 2 * len(out) > len(alone) else out


def open_candidates(
    limits: StragglerLimits, state: StragglerState, found: list[Candidate], number: int, ts_us: int
) -> list[Finding]:
    """Make suspects, in step `number`, and tell of them: several on one node are told as the node."""
    edges: list[Finding | None] = []
    by_node: dict[str | None, list[Candidate]] = defaultdict(list)
    for c in sorted(found, key=lambda c: c.rank):
        node = state.node_of(c.rank)
        state.kept.suspects[c.rank] = Suspect(c.factor, node, number, c.base, c.sure)
        if c.sure:
            by_node[node].append(c)
        else:
            edges.append(state.kept.episodes.report(f"pair/{c.rank}", _pair(limits, state, c, ts_us)))
    for node, candidates in by_node.items():
        all_here = {r: s for r, s in state.kept.suspects.items() if s.node == node and s.sure}
        if node is not None and len(all_here) >= limits.host_ranks:
            told = _host(limits, state, node, all_here, candidates[0], ts_us)
            edges.append(state.kept.episodes.report(f"node/{node}", told))
        else:
            edges += [state.kept.episodes.report(f"rank/{c.rank}", _rank(limits, state, c, ts_us)) for c in candidates]
    return [edge for edge in edges if edge is not None]


def follow(limits: StragglerLimits, state: StragglerState, group: PeerGroup, number: int) -> None:
    """Remember how the suspects of a group did in step `number`, if that was after they became suspects."""
    for rank in group.ranks:
        suspect = state.kept.suspects.get(rank)
        if suspect is None or number <= suspect.since:
            continue
        if len(group.ranks) == 1 and suspect.base is not None:
            x = group.own[rank][-1] - suspect.base
        elif group.steps and rank in group.steps[-1]:
            x = group.steps[-1][rank]
        else:
            continue
        state.since_open[rank] = [*state.since_open.get(rank, []), x][-limits.settled_steps :]


def worsen(limits: StragglerLimits, state: StragglerState, ts_us: int) -> list[Finding]:
    """Say it again when an open slow-down has doubled: what it costs follows from the factor, and three steps of a
    GPU that is only beginning to throttle tell too little."""
    out: list[Finding] = []
    for group in state.groups:
        for rank in group.ranks:
            suspect, series = state.kept.suspects.get(rank), state.since_open.get(rank, [])
            if suspect is None or not suspect.sure or len(series) < limits.shift_steps:
                continue
            factor = math.exp(median(series[-limits.shift_steps :]))
            told = state.kept.episodes.open.get(f"rank/{rank}")
            if told is None or told.value is None or factor - 1 < limits.worse * (told.value - 1):
                continue
            now = Candidate(rank, factor, limits.shift_steps, None, group, suspect.base)
            finding = _rank(limits, state, now, ts_us)
            out += _told(state.kept.episodes.report(f"rank/{rank}", finding, Damping(growth=1.0)))
    return out


def settle(limits: StragglerLimits, state: StragglerState, number: int, ts_us: int) -> list[Finding]:
    """Close, in step `number`, what the steps since it opened show to be over.

    The slow steps are then forgotten: within a long window they would accuse a rank that has recovered.
    """
    out: list[Finding] = []
    for rank, series in sorted(state.since_open.items()):
        if len(series) < limits.settled_steps or median(series) >= math.log(limits.settled):
            continue
        told = Evidence(
            what=f"own compute over the peers', median of {len(series)} steps",
            value=math.exp(median(series)),
            unit="ratio",
        )
        out += release(state, rank, ts_us, f"rank {rank} of {state.job} keeps up with its peers", [told])
        horizon = number - 2 * max(limits.windows)
        state.kept.settled = {r: s for r, s in state.kept.settled.items() if s > horizon} | {rank: number}
    forget_settled(state, number)
    return out


def forget_settled(state: StragglerState, number: int) -> None:
    """Drop the ratios of ranks up to the step in which they recovered; also when these steps are read back."""
    for rank, step in state.kept.settled.items():
        if number <= step:
            for group in state.groups:
                group.ratios.get(rank, []).clear()


def release(state: StragglerState, rank: int, ts_us: int, summary: str, evidence: list[Evidence]) -> list[Finding]:
    """A rank is no suspect any more; with the last of its node the node is none either."""
    suspect = state.kept.suspects.pop(rank)
    state.since_open.pop(rank, None)
    name = f"rank/{rank}" if suspect.sure else f"pair/{rank}"
    out = _told(state.kept.episodes.clear(name, ts_us, summary, evidence))
    if suspect.node is not None and all(s.node != suspect.node for s in state.kept.suspects.values() if s.sure):
        out += _told(state.kept.episodes.clear(f"node/{suspect.node}", ts_us, summary, evidence))
    return out


def moved(state: StragglerState, ts_us: int) -> list[Finding]:
    """A placement that runs a suspect rank elsewhere, or no more, ends its episode."""
    out: list[Finding] = []
    for rank, suspect in sorted(state.kept.suspects.items()):
        place = state.placement.get(rank)
        if place is None:
            out += release(state, rank, ts_us, f"rank {rank} of {state.job} is not placed any more", [])
        elif suspect.node is not None and place.node != suspect.node:
            out += release(
                state, rank, ts_us, f"rank {rank} of {state.job} moved from {suspect.node} to {place.node}", []
            )
    return out


def _left_its_past(limits: StragglerLimits, group: PeerGroup, rank: int, window: int) -> bool:
    own = group.own.get(rank, [])
    past = own[: -window or None][-limits.base_steps :]
    if len(past) < limits.windows[0]:
        return False
    return median(own[-window:]) - median(past) >= math.log(limits.effect) / 2


def _rank(limits: StragglerLimits, state: StragglerState, c: Candidate, ts_us: int) -> Finding:
    subject = rank_subject(state, c.rank)
    where = "" if subject.node is None else f" on {subject.node}"
    peers = c.group.ranks if len(c.group.ranks) > 1 else ()
    beside = {0: "in its own past", 2: "its only peer"}.get(len(peers), f"its {len(peers) - 1} peers")
    return finding(
        limits,
        state,
        subject,
        ts_us,
        cause="slow_rank",
        severity="critical",
        factor=c.factor,
        summary=f"rank {c.rank} of {state.job}{where} computes {c.factor:.2f} times as long as {beside}",
        evidence=[
            *rank_evidence(state, c.rank, peers),
            *window_evidence(limits, c.window, c.sigma),
            *cost_evidence(state, c.rank, peers),
        ],
        action="look at this GPU's clocks, throttle reasons and errors; move the rank if it stays slow",
    )


def _host(
    limits: StragglerLimits,
    state: StragglerState,
    node: str,
    slow: dict[int, Suspect],
    c: Candidate,
    ts_us: int,
) -> Finding:
    factor = max(s.factor for s in slow.values())
    names = ", ".join(str(r) for r in sorted(slow)[:8]) + (" ..." if len(slow) > 8 else "")
    return finding(
        limits,
        state,
        Subject(kind="node", id=node, node=node, job=state.job),
        ts_us,
        cause="host_slow",
        severity="critical",
        factor=factor,
        summary=f"{len(slow)} ranks of {state.job} on {node} are slow, up to {percent(factor)}: {names}",
        evidence=[
            Evidence(what=f"slow ranks on the node: {names}", value=float(len(slow)), unit="ranks"),
            *rank_evidence(state, c.rank, c.group.ranks),
            *window_evidence(limits, c.window, c.sigma),
            *cost_evidence(state, c.rank, c.group.ranks),
        ],
        action="look at the host: CPU contention, data loader, power, the GPUs that it has in common",
    )


def _pair(limits: StragglerLimits, state: StragglerState, c: Candidate, ts_us: int) -> Finding:
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
        evidence=[*rank_evidence(state, c.rank, c.group.ranks), *window_evidence(limits, c.window, c.sigma)],
    )


def _told(edge: Finding | None) -> list[Finding]:
    return [] if edge is None else [edge]
