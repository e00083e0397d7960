"""The life of a suspect: found, told, followed, cleared."""

import math
from collections import defaultdict
from dataclasses import replace

from streams.contract import Evidence, Finding
from streams.detectors.straggler_groups import PeerGroup
from streams.detectors.straggler_host import holds_up, host_is_at_fault
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import By, StragglerState, Suspect
from streams.detectors.straggler_statistic import median, slow_window
from streams.detectors.straggler_words import LONG, Candidate, host_slow, pair_parted, rank_slow
from streams.episodes import Damping


def look(limits: StragglerLimits, state: StragglerState, group: PeerGroup, by: By) -> list[Candidate]:
    """The ranks of a group that are newly slow against their peers, after a judged step."""
    track = group.compute if by == "compute" else group.host
    half_effect = math.log(limits.effect) / 2
    out = []
    for rank, x in track.last.items():
        if x <= half_effect or rank in state.kept.suspects:
            continue
        slow = slow_window(
            limits,
            track.ratios[rank],
            lambda n, r=rank: track.noise(limits, r, n),  # type: ignore[misc]
            state.world,
        )
        if slow is None:
            continue
        found = Candidate(rank, slow.factor, slow.window, slow.sigma, group, by=by)
        if by == "host":
            held = holds_up(state, group, rank, slow.window)
            if held is not False:
                out.append(replace(found, host=True, waits_told=held is not None))
            continue
        left = True if len(group.ranks) > 2 else _left_its_past(limits, group, rank, slow.window)
        host = host_is_at_fault(limits, state, group, rank)
        out.append(replace(found, sure=left is not False, past_told=left is not None, host=host))
    return out


def open_candidates(
    limits: StragglerLimits, state: StragglerState, found: list[Candidate], number: int, ts_us: int
) -> list[Finding]:
    """Make suspects, in step `number`, and tell of them: several on one node, or one by its host, as the node."""
    edges: list[Finding | None] = []
    by_node: dict[str | None, list[Candidate]] = defaultdict(list)
    for c in sorted({c.rank: c for c in reversed(found)}.values(), key=lambda c: c.rank):
        node = state.node_of(c.rank)
        state.kept.suspects[c.rank] = Suspect(c.factor, node, number, c.base, c.sure, c.by)
        if c.sure:
            by_node[node].append(c)
        else:
            edges.append(state.kept.episodes.report(f"pair/{c.rank}", pair_parted(limits, state, c, ts_us)))
    for node, candidates in by_node.items():
        all_here = {r: s for r, s in state.kept.suspects.items() if s.node == node and s.sure}
        by_host = next((c for c in candidates if c.host), None)
        if node is not None and (by_host is not None or len(all_here) >= limits.host_ranks):
            told = host_slow(limits, state, node, all_here, by_host or candidates[0], ts_us)
            edges.append(state.kept.episodes.report(f"node/{node}", told))
        else:
            edges += [
                state.kept.episodes.report(f"rank/{c.rank}", rank_slow(limits, state, c, ts_us)) for c in candidates
            ]
    return [edge for edge in edges if edge is not None]


def follow(limits: StragglerLimits, state: StragglerState, group: PeerGroup, number: int) -> None:
    """Remember how the suspects of a group did in step `number`, if that was after they became suspects."""
    for rank in group.ranks:
        suspect = state.kept.suspects.get(rank)
        if suspect is None or suspect.held or number <= suspect.since:
            continue
        x = _now(group, rank, suspect)
        if x is None:
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
            now = Candidate(rank, factor, limits.shift_steps, None, group, suspect.base, by=suspect.by)
            out += _told(
                state.kept.episodes.report(f"rank/{rank}", rank_slow(limits, state, now, ts_us), Damping(growth=1.0))
            )
    return out


def settle(limits: StragglerLimits, state: StragglerState, number: int, ts_us: int) -> list[Finding]:
    """Close, in step `number`, what the steps since it opened show to be over.

    The slow steps are then forgotten: within a long window they would accuse a rank that has recovered.
    """
    out: list[Finding] = []
    for rank, series in sorted(state.since_open.items()):
        if len(series) < limits.settled_steps or median(series) >= math.log(limits.settled):
            continue
        suspect = state.kept.suspects[rank]
        by, than = suspect.by, "the peers'" if suspect.base is None else "its own past"
        told = Evidence(
            what=f"{LONG[by]} over {than}, median of {len(series)} steps",
            value=math.exp(median(series)),
            unit="ratio",
        )
        out += release(state, rank, ts_us, f"rank {rank} of {state.job} keeps up with its peers", [told])
        horizon = number - 2 * max(limits.windows)
        state.kept.settled = {r: s for r, s in state.kept.settled.items() if s > horizon} | {rank: number}
    forget_settled(state, number)
    return out


def forget_settled(state: StragglerState, number: int) -> None:
    """Drop the ratios of ranks, and of their nodes, up to the step in which they recovered; also when these steps are
    read back."""
    for rank, step in state.kept.settled.items():
        if number > step:
            continue
        for group in state.groups:
            for track in (group.compute, group.host):
                if rank in track.ratios:
                    del track.ratios[rank][:]
        node = state.node_of(rank)
        if state.nodes_track is not None and node in state.nodes_named:
            del state.nodes_track.ratios[state.nodes_named.index(node)][:]


def release(state: StragglerState, rank: int, ts_us: int, summary: str, evidence: list[Evidence]) -> list[Finding]:
    """A rank is no suspect any more; with the last of its node the node is none either."""
    suspect = state.kept.suspects.pop(rank)
    state.since_open.pop(rank, None)
    name = f"rank/{rank}" if suspect.sure else f"pair/{rank}"
    out = _told(state.kept.episodes.clear(name, ts_us, summary, evidence))
    if suspect.node is not None and all(s.node != suspect.node for s in state.kept.suspects.values() if s.sure):
        words = f"no rank of {state.job} on {suspect.node} is slow any more: {summary}"
        out += _told(state.kept.episodes.clear(f"node/{suspect.node}", ts_us, words, evidence))
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


def _now(group: PeerGroup, rank: int, suspect: Suspect) -> float | None:
    """How a suspect did in the last judged step, natural logarithm; None: not known."""
    if suspect.base is not None:
        own = group.own.get(rank)
        return None if not own else own[-1] - suspect.base
    track = group.compute if suspect.by == "compute" else group.host
    return track.last.get(rank)


def _left_its_past(limits: StragglerLimits, group: PeerGroup, rank: int, window: int) -> bool | None:
    """Of one of two: did it change, and not its peer? None: it has been so since the first judged steps."""
    own = group.own.get(rank, ())
    past = own[: -window or None][-limits.base_steps :]
    if len(past) < limits.windows[0]:
        return None
    return median(own[-window:]) - median(past) >= math.log(limits.effect) / 2


def _told(edge: Finding | None) -> list[Finding]:
    return [] if edge is None else [edge]
