"""From looks to edges: what opens, what gets better, what is over."""

from streams.contract import Finding
from streams.detectors.comm_findings import late_finding, slow_finding, who_of
from streams.detectors.comm_late import Late, fresh_look, is_calm, is_late, late_ranks
from streams.detectors.comm_limits import CommLimits
from streams.detectors.comm_locate import locate
from streams.detectors.comm_state import CommState, End

_LATE, _SLOW = "late/", "slow"
_MOST_BASES = 64
"""Communicators whose past is kept while their slowness is open."""


def judge(state: CommState, limits: CommLimits, ts_us: int) -> list[Finding]:
    """Look at all communicators together."""
    late = late_ranks(limits, state, ts_us)
    out = _late(state, limits, late, ts_us) + _slow(state, limits, ts_us)
    if out:
        state.kept.edge_us = ts_us
    return out


def over(state: CommState, ts_us: int, words: str) -> list[Finding]:
    """End every episode: what was judged is gone."""
    edges = [state.kept.episodes.clear(name, ts_us, words) for name in sorted(state.kept.episodes.open)]
    state.kept.bases, state.kept.pair_bases, state.kept.late = {}, {}, {}
    state.kept.edge_us = max(state.kept.edge_us, ts_us) if edges else state.kept.edge_us
    return [edge for edge in edges if edge is not None]


def _late(state: CommState, limits: CommLimits, late: list[Late], ts_us: int) -> list[Finding]:
    """Late ranks, those of one node together. The job's own compute times judge better where they are told."""
    out: list[Finding | None] = []
    kept = state.kept
    told = state.compute_us > 0 and state.compute_us + limits.usable_us >= ts_us
    if not told and len({one.end.node for one in late}) <= limits.most_late:
        nodes: dict[str, list[Late]] = {}
        for one in late:
            nodes.setdefault(one.end.node, []).append(one)
        for node, some in sorted(nodes.items()):
            comms = sorted({name for one in some for name in one.looks})
            if any(name.startswith(f"{_LATE}{node}/") for name in kept.episodes.open):
                continue
            if any(set(held) & set(comms) for held in kept.late.values()):
                continue  # the same communicators are held up by those that are named already
            finding = late_finding(state, limits, some, ts_us)
            rank = finding.subject.rank
            name = f"{_LATE}{node}/" + ("" if rank is None else str(rank))
            out.append(kept.episodes.report(name, finding))
            kept.late[name] = comms[:_MOST_BASES]
    for name in sorted(kept.episodes.open):
        if name.startswith(_LATE):
            out.append(_settle(state, limits, name, ts_us))
    return [edge for edge in out if edge is not None]


def _settle(state: CommState, limits: CommLimits, name: str, ts_us: int) -> Finding | None:
    """It is over when each communicator of that process has seen enough collectives since, and none names it."""
    last = state.kept.episodes.open[name]
    node, _, label = name.removeprefix(_LATE).partition("/")
    calm = 0
    for comm_name, comm in state.comms.items():
        ranks = [rank for rank, end in comm.ends.items() if end.node == node]
        if label:
            ranks = [rank for rank in ranks if _is(state, comm.ends[rank], comm_name, rank, int(label))]
        if not ranks:
            continue
        seen = fresh_look(limits, comm, ts_us)
        if seen is None:
            continue
        if seen.since_us < last.ts_us or not all(is_calm(limits, seen, rank) for rank in ranks):
            return None
        calm += 1
    if calm == 0:
        return None
    s = last.subject
    who = s.id if s.rank is None else f"rank {s.rank} of {s.job}"
    state.kept.late.pop(name, None)
    return state.kept.episodes.clear(name, ts_us, f"{who} keeps nobody waiting any more")


def _is(state: CommState, end: End, comm: str, rank: int, job_rank: int) -> bool:
    return who_of(state, end, {comm: rank}).rank == job_rank


def _slow(state: CommState, limits: CommLimits, ts_us: int) -> list[Finding]:
    """Slow transfers, of all communicators together: one finding a job."""
    kept = state.kept
    since: list[int] = []
    names: list[str] = []
    for name, comm in state.comms.items():
        if comm.slow_us is None or comm.series.judged_us + limits.fresh_us < ts_us:
            continue
        seen = fresh_look(limits, comm, ts_us)
        if seen is not None and is_late(limits, seen):
            continue  # one rank is late: it may well be slow in its transfers too
        since.append(comm.slow_us)
        names.append(name)
    hot = [name for name, comm in state.comms.items() if comm.pairs.hot(limits)]
    last = kept.episodes.open.get(_SLOW)
    if not since and not hot:
        edge = _recovered(state, limits, ts_us) if last is not None else None
        return [] if edge is None else [edge]
    if last is None and since and ts_us < min(since) + limits.gather_us:
        return []
    place = locate(limits, state, ts_us)
    finding = slow_finding(state, limits, place, ts_us)
    if last is not None and last.cause == "slow_link" and finding.cause == "comm_slow":
        return []  # a place that was found is not unlearned because it shows less clearly now
    edge = kept.episodes.report(_SLOW, finding)
    if edge is None:
        return []
    for name in names[:_MOST_BASES]:
        kept.bases.setdefault(name, state.comms[name].series.past_of_slow())
    for name in hot[:_MOST_BASES]:
        kept.pair_bases.setdefault(name, state.comms[name].pairs.past_of_hot(limits))
    return [edge]


def _recovered(state: CommState, limits: CommLimits, ts_us: int) -> Finding | None:
    """Over when a communicator that was slow is measured again, and none is slow."""
    kept = state.kept
    last = kept.episodes.open[_SLOW]
    measured = 0
    for name in {*kept.bases, *kept.pair_bases}:
        comm = state.comms.get(name)
        if comm is None:
            continue
        fresh = comm.series.judged_us if name in kept.bases else comm.pairs.judged_us
        if fresh + limits.fresh_us < ts_us:
            continue
        if fresh <= last.ts_us:
            return None
        measured += 1
    if measured == 0:
        return None
    kept.bases, kept.pair_bases = {}, {}
    where = f" at {last.subject.id}" if last.subject.kind == "node" else ""
    return kept.episodes.clear(_SLOW, ts_us, f"transfers of {kept.job}{where} take no longer than they did")
