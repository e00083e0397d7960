"""The verdicts on collectives, in words."""

from streams.contract import Candidate, Evidence, Finding, Severity, Subject
from streams.detectors.comm_late import Late
from streams.detectors.comm_limits import CommLimits
from streams.detectors.comm_locate import NAMED, Place
from streams.detectors.comm_state import CommState, End
from streams.detectors.roll import Who

NAME = "comm"


def who_of(state: CommState, end: End, rank_in: dict[str, int]) -> Who:
    """The process as a rank of the job, where that is known."""
    found = state.roll.of_process(end.node, end.pid, None, f"a process on {end.node}")
    if found.rank is not None:
        return found
    world = state.roll.world()
    for name, rank in rank_in.items():
        comm = state.comms.get(name)
        if comm is not None and comm.size == world and comm.ends.get(rank) == end:
            return state.roll.of_rank(rank, end.node, end.pid)
    here = state.roll.on_node(end.node)
    if end.pid is None and len(here) == 1:
        return state.roll.of_rank(next(iter(here)), end.node)
    return found


def late_finding(state: CommState, limits: CommLimits, late: list[Late], ts_us: int) -> Finding:
    """One rank, or several of one node. Low confidence: seen from the waits of others, not from its own compute."""
    first = max(late, key=lambda one: max(seen.waits for seen in one.looks.values()))
    seen = max(first.looks.values(), key=lambda one: one.waits)
    who = who_of(state, first.end, first.rank_in)
    job, node = state.kept.job, first.end.node
    waits = min(0.95, seen.waits)
    ranks = max(len(late), len(seen.last))
    several = ranks > 1
    subject = Subject(kind="node", id=node, node=node, job=job)
    if not several and who.rank is not None:
        subject = Subject(
            kind="rank",
            id=f"{job}/{who.rank}",
            job=job,
            rank=who.rank,
            node=who.node,
            gpu_uuid=who.gpu_uuid,
            gpu_index=who.gpu_index,
        )
    name = f"{ranks} ranks on {node}" if several else who.words()
    comes = "come" if several else "comes"
    comms = sorted({name for one in late for name in one.looks})
    evidence = [
        Evidence(what=f"came last in collectives of {_named(state, comms)}", value=seen.share, unit="share"),
        Evidence(what="collectives looked at", value=float(seen.collectives)),
        Evidence(what="the others wait for it, share of the time", value=seen.waits, unit="share"),
        Evidence(what="wait of the others for one collective, median", value=seen.wait_s, unit="s"),
    ]
    if first.staged:
        evidence.append(Evidence(what="its pipeline's receives: others wait for its sends, it waits for nobody's"))
    elif first.replica:
        evidence.append(Evidence(what="its whole pipeline replica is late; which stage cannot be told"))
    lost = _lost(state, waits)
    return Finding(
        cluster=state.kept.cluster,
        ts_us=ts_us,
        detector=NAME,
        state="opened",
        subject=subject,
        episode_us=ts_us,
        severity="warning",
        cause="host_slow" if several else "slow_rank",
        value=seen.share,
        limit=limits.share,
        unit="share",
        summary=f"{name} of {job} {comes} last in {seen.share * 100:.0f} % of the collectives and "
        f"the others wait {seen.waits * 100:.0f} % of the time; seen from NCCL alone: the job reports no compute times",
        evidence=evidence,
        jobs=[job],
        confidence="low",
        slowdown=round(1 / (1 - waits), 3),
        gpu_hours_lost_per_hour=lost,
        candidates=_late_candidates(state, late),
    )


def slow_finding(state: CommState, limits: CommLimits, place: Place, ts_us: int) -> Finding:
    """Transfers that take longer than they did: at a node, or only in a group."""
    job = state.kept.job
    share = max((state.comms[name].series.excess() for name in place.comms if name in state.comms), default=0.0)
    slowdown = 1 / (1 - share)
    worst = [one for name in place.comms if name in state.comms for one in state.comms[name].series.slow_kinds()]
    factor = max((one.factor for _, one in worst), default=None)
    told = state.transfer_us + limits.usable_us >= ts_us and state.transfer_us > 0
    severity: Severity = "critical" if slowdown >= limits.page else "warning"
    if place.node is None and told:
        # The step reports' own verdict speaks of the whole group.
        severity = "info"
    evidence = [
        Evidence(what=f"slow communicators: {_named(state, place.comms)}", value=float(len(place.comms))),
        Evidence(what="communicators compared with their past", value=float(place.judged)),
    ]
    for (coll, bits), one in worst[:4]:
        size = f" of {_size(bits)} and more" if bits >= 0 else ""
        evidence.append(Evidence(what=f"transfer of {coll}{size}, past", value=one.base_s, unit="s"))
        evidence.append(Evidence(what=f"transfer of {coll}{size}, over its past", value=one.factor, unit="ratio"))
    if place.words:
        evidence.append(Evidence(what=place.words))
    often = f"{factor:.2f} times as long as before" if factor is not None else "longer than before"
    if place.node is not None:
        subject, where = _at(state, place), f"at {place.node}"
        cause, words = "slow_link", f"communication of {job} is slow {where}: {place.words}"
        if factor is not None:
            words += f"; transfers take {often}"
    else:
        name = place.comms[0] if place.comms else "pairs"
        subject = Subject(kind="comm", id=f"{job}/{name}", job=job)
        cause = "comm_slow"
        group = _named(state, place.comms) if place.comms else "pairs of ranks"
        words = (
            f"transfers of {job} take {often} in {group}, all ranks alike; which link is not known: this is the group"
        )
        if place.words:
            words += f" ({place.words})"
    return Finding(
        cluster=state.kept.cluster,
        ts_us=ts_us,
        detector=NAME,
        state="opened",
        subject=subject,
        episode_us=ts_us,
        severity=severity,
        cause=cause,
        value=factor,
        limit=limits.slow,
        unit="ratio",
        summary=words,
        evidence=evidence,
        jobs=[job],
        confidence="medium" if place.node is not None else "low",
        slowdown=round(slowdown, 3),
        gpu_hours_lost_per_hour=_lost(state, share),
        candidates=place.candidates,
    )


def _at(state: CommState, place: Place) -> Subject:
    assert place.node is not None
    subject = Subject(kind="node", id=place.node, node=place.node, job=state.kept.job)
    if place.end is None:
        return subject
    who = state.roll.of_process(place.end.node, place.end.pid, None, "")
    return Subject(
        kind="node",
        id=place.node,
        node=place.node,
        job=state.kept.job,
        rank=who.rank,
        gpu_uuid=who.gpu_uuid,
        gpu_index=who.gpu_index,
    )


def _late_candidates(state: CommState, late: list[Late]) -> list[Candidate]:
    out = []
    for one in late[:NAMED]:
        who = who_of(state, one.end, one.rank_in)
        seen = max(one.looks.values(), key=lambda look: look.share)
        why = f"{who.words()} came last in {seen.share * 100:.0f} % of {seen.collectives} collectives"
        if who.rank is not None:
            out.append(Candidate(kind="rank", id=f"{state.kept.job}/{who.rank}", score=round(seen.share, 3), why=why))
        else:
            out.append(Candidate(kind="node", id=one.end.node, score=round(seen.share, 3), why=why))
    return out


def _named(state: CommState, comms: list[str]) -> str:
    """`dp (3fa0...), tp (77b1...)`."""
    words = []
    for name in comms[:NAMED]:
        comm = state.comms.get(name)
        words.append(f"{comm.name} ({name})" if comm is not None and comm.name else f"communicator {name}")
    return ", ".join(words) + (f" and {len(comms) - NAMED} more" if len(comms) > NAMED else "")


def _size(bits: int) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if bits >= power:
            return f"{1 << (bits - power)} {unit}"
    return f"{1 << bits} B"


def _lost(state: CommState, share: float) -> float | None:
    """World size x (1 - 1/S), with S = 1 / (1 - share): an upper bound, for some of it may be hidden by compute."""
    world = state.roll.world()
    if world is None:
        world = max((comm.size for comm in state.comms.values()), default=None)
    return round(world * share, 3) if world is not None else None
