"""An incident as a message: the cause, its symptoms, who is hurt and how sure that is, what it costs, how it stands."""

import dataclasses
from typing import Literal

from streams.catalog import ASKS
from streams.causes import FLEET_SILENCE, cause_row, runbook
from streams.contract import Candidate, Finding, Incident, Subject
from streams.correlator_causes import gpus_at, is_silent_part, severity, silent_place
from streams.correlator_common import ACTIONS
from streams.correlator_common import subject as common_subject
from streams.correlator_parts import finding_gpu, finding_node
from streams.correlator_state import Case, CorrelatorState
from streams.hurt import SURE, jobs
from streams.incident_words import evidence, place, summary
from streams.pause import STORM, receives
from streams.standing import Standing, standing
from streams.world import World

MOST_SYMPTOMS = 500
"""Keys listed in one incident, so that a storm's message stays below Kafka's 1 MB."""
MOST_CANDIDATES = 20
Edge = Literal["opened", "updated", "cleared"]
_GRAVITY = {"info": 0, "warning": 1, "critical": 2}


def incident(
    state: CorrelatorState,
    case: Case,
    how: Edge,
    ts_us: int,
    world: World,
    cleared_us: int | None = None,
) -> Incident:
    """Build the message of a case as it stands now. Severity never falls while the case is open."""
    keys = state.keys_of(case.id)
    root = state.members[case.root].finding
    findings = [state.members[k].finding for k in keys]
    symptoms = [k for k in keys if k != case.root]
    slowed = {
        f.subject.job
        for k, f in zip(keys, findings, strict=True)
        if k != case.root and f.subject.job and state.members[k].cleared_us is None
    }
    faulty = findings if case.fleet or case.common is not None else [root]
    hurt, possible = _who(faulty, slowed | _retrying(root, state, world), world)
    hurt |= {*root.jobs, *slowed}
    gpus = set().union(*(gpus_at(f, world) for f in faulty if not case.fleet or f is root))
    gpus |= {uuid for f in findings if (uuid := finding_gpu(f, world)) is not None}
    now = severity(root, hurt, bool(slowed), case.fleet and (case.common is not None or _is_wide(findings)))
    if case.told is not None:
        hurt |= set(case.told.jobs)
        now = max(now, case.told.severity, key=_GRAVITY.__getitem__)
    word = FLEET_SILENCE if case.fleet else root.cause
    subject = root.subject if case.common is None else common_subject(case.common)
    possible = [c for c in possible if c.id not in hurt]
    lost = _gpu_hours_lost(findings, world)
    named = sorted(hurt)
    words = summary(root, findings, case, named, possible, lost, cleared_us or ts_us, world)
    over = state.members[case.root].over if how == "cleared" else ""
    return Incident(
        cluster=root.cluster,
        ts_us=ts_us,
        id=case.id,
        state=how,
        severity=now,
        cause=case.root,
        cause_word=word,
        detector=root.detector,
        subject=subject,
        symptoms=symptoms[:MOST_SYMPTOMS],
        jobs=named,
        gpus=sorted(gpus),
        gpu_hours_lost_per_hour=lost,
        opened_us=min(case.opened_us, root.episode_us),
        cleared_us=cleared_us,
        summary=f"{words}; over: {over}" if over else words,
        action=_asked(findings, root, _action(case, root, word, world)),
        runbook=runbook(word),
        evidence=evidence(state, case, symptoms),
        candidates=[*root.candidates, *possible][:MOST_CANDIDATES],
        confidence=root.confidence,
        owner=cause_row(word).owner,
        place=place(root, world) if case.common is None else f"{subject.kind} {subject.id}",
        rack=_rack(root, subject, world),
        **dataclasses.asdict(standing_of(state, case, word, subject, world, ts_us)),
    )


def standing_of(state: CorrelatorState, case: Case, word: str, subject: Subject, world: World, ts_us: int) -> Standing:
    """How a case stands with people and schedulers at one moment."""
    members = [state.members[k] for k in state.keys_of(case.id)]
    root = state.members[case.root].finding
    left = [m.finding for m in members if m.cleared_us is None] or [root]
    return standing(case.id, word, subject, root, left, world, ts_us)


def _is_wide(findings: list[Finding]) -> bool:
    """Silence in more than two places is grave whoever is hurt; two idle nodes are a ticket, as one is."""
    return len({silent_place(f) for f in findings if is_silent_part(f)}) > 2


def _who(findings: list[Finding], seen: set[str], world: World) -> tuple[set[str], list[Candidate]]:
    """Jobs that are surely hurt, and those that may be, likeliest first."""
    found: dict[str, Candidate] = {}
    for finding in findings:
        for candidate in jobs(finding, world, seen):
            known = found.get(candidate.id)
            if known is None or known.score < candidate.score:
                found[candidate.id] = candidate
    sure = {c.id for c in found.values() if c.score >= SURE}
    return sure, sorted((c for c in found.values() if c.id not in sure), key=lambda c: (-c.score, c.id))


def _retrying(root: Finding, state: CorrelatorState, world: World) -> set[str]:
    """Jobs whose hosts retry: they may cross a fault of the fabric, and now they show it."""
    if root.subject.kind not in ("port", "device") or not state.retrying:
        return set()
    nodes = [node for cluster, node in state.retrying if cluster == root.cluster]
    return set().union(*(world.jobs_on_node(root.cluster, node) for node in nodes))


def _action(case: Case, root: Finding, word: str, world: World) -> str:
    """A part that many have in common is looked at before any of them; of a storm the origin is known here."""
    if case.common is not None and (case.common.kind, case.common.what) in ACTIONS:
        return ACTIONS[(case.common.kind, case.common.what)]
    if root.cause == STORM and receives(root) and (behind := _behind(root, world)) is not None:
        return f"look at {behind}, the origin of the pause: NIC, PCIe, memory; take it off the network if it goes on"
    return (None if case.fleet else root.action) or cause_row(word).action


def _asked(findings: list[Finding], root: Finding, action: str) -> str:
    """With what the driver itself asks for the part, where another detector's finding is the cause."""
    of_part = [f for f in findings if f.subject.id == root.subject.id]
    asked = [e.what for f in of_part for e in f.evidence if e.what.startswith(ASKS) and e.what not in action]
    return f"{action}; {asked[-1]}" if asked else action


def _behind(root: Finding, world: World) -> str | None:
    """The host at the far end of a port."""
    s = root.subject
    ends = world.cables.ends(root.cluster, s.device, s.port) if s.device is not None and s.port is not None else ()
    links = [world.link(root.cluster, *end.partition("/")[::2]) for end in sorted(ends)]
    return next((link.node for link in links if link is not None and link.node is not None), None)


def _rack(root: Finding, subject: Subject, world: World) -> str | None:
    if subject.kind == "rack":
        return subject.id
    node = subject.id if subject.kind == "node" else finding_node(root, world)
    return None if node is None or subject.kind == "device" else world.states.rack(root.cluster, node)


def _gpu_hours_lost(findings: list[Finding], world: World) -> float | None:
    """Per hour, summed over jobs: as a detector worked it out for the whole job, else world size x (1 - 1/slowdown)
    by the slowest rank, which is an upper bound."""
    told: dict[str, float] = {}
    bound: dict[str, float] = {}
    for f in findings:
        job = f.subject.job
        if job is None:
            continue
        if f.gpu_hours_lost_per_hour is not None:
            told[job] = max(told.get(job, 0.0), f.gpu_hours_lost_per_hour)
            continue
        size = world.world_size(f.cluster, job)
        slow = f.slowdown if f.slowdown is not None else f.value if f.detector == "straggler" else None
        if size is not None and slow is not None and slow > 1:
            bound[job] = max(bound.get(job, 0.0), size * (1 - 1 / slow))
    lost = {**bound, **told}
    return round(sum(lost.values()), 3) if lost else None
