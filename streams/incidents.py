"""An incident as a person on call reads it: the cause with its numbers, the place, who is hurt, what to do."""

import re
from datetime import UTC, datetime
from typing import Literal

from streams.cables import is_own
from streams.causes import FLEET_SILENCE, cause_row, runbook
from streams.contract import Evidence, Finding, Incident
from streams.correlator_causes import gpus_at, jobs_hurt, severity
from streams.correlator_parts import finding_gpu, finding_node
from streams.correlator_state import Case, CorrelatorState
from streams.world import World

MOST_SYMPTOMS = 500
"""Keys listed in one incident, so that a storm's message stays below Kafka's 1 MB."""
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
    slowed = sorted(
        {
            f.subject.job
            for k, f in zip(keys, findings, strict=True)
            if k != case.root and f.subject.job and state.members[k].cleared_us is None
        }
    )
    jobs = set(root.jobs) | set(slowed)
    gpus = gpus_at(root, world)
    for finding in findings if case.fleet else [root]:
        jobs |= jobs_hurt(finding, world)
    for finding in findings:
        gpus |= {uuid for uuid in (finding_gpu(finding, world),) if uuid}
    now = severity(root, jobs, bool(slowed), case.fleet)
    if case.told is not None:
        jobs |= set(case.told.jobs)
        now = max(now, case.told.severity, key=_GRAVITY.__getitem__)
    word = FLEET_SILENCE if case.fleet else root.cause
    lost = _gpu_hours_lost(findings, world)
    opened_us = min(case.opened_us, root.episode_us)
    return Incident(
        cluster=root.cluster,
        ts_us=ts_us,
        id=case.id,
        state=how,
        severity=now,
        cause=case.root,
        cause_word=word,
        detector=root.detector,
        subject=root.subject,
        symptoms=symptoms[:MOST_SYMPTOMS],
        jobs=sorted(jobs),
        gpus=sorted(gpus),
        gpu_hours_lost_per_hour=lost,
        opened_us=opened_us,
        cleared_us=cleared_us,
        summary=_summary(root, findings, case, sorted(jobs), lost, opened_us, cleared_us or ts_us, world),
        action=(None if case.fleet else root.action) or cause_row(word).action,
        runbook=runbook(word),
        owner=cause_row(word).owner,
        evidence=_evidence(state, case, symptoms),
    )


def place(finding: Finding, world: World) -> str:
    """Where a person finds the part: node, GPU index, UUID and PCI address, or both ends of a cable.

    What the finding's own summary says already is not said again; empty when nothing is left to say.
    """
    s, c = finding.subject, finding.cluster
    words: list[str] = []
    if s.kind == "port" and s.device is not None and s.port is not None:
        link = world.link(c, s.device, s.port)
        if not _says(finding.summary, f"{s.device} {s.port}"):
            words.append(f"{s.device} port {s.port}")
        if link is not None and not is_own(link):
            far = f"{link.far_device} {link.far_port}" if link.far_port else link.far_device
            words.append(f"cabled to {far}" + (f" in {link.node}" if link.node not in (None, link.far_device) else ""))
        if (planned := world.planned(c, s.device, s.port)) is not None:
            words.append(f"which LLDP sees where the cable map says {planned.far_device}")
        return ", ".join(words)
    said = finding.summary
    node, uuid = finding_node(finding, world), finding_gpu(finding, world)
    if s.kind == "rank":
        words.append(f"rank {s.rank} of {s.job}")
    elif s.kind != "gpu":
        words.append(f"{s.kind} {s.id}")
    if node is not None and not (s.kind == "node" and s.id == node) and not _says(said, node):
        words.append(f"node {node}")
    known = world.place(c, uuid) if uuid else None
    index = s.gpu_index if s.gpu_index is not None else (known.index if known else None)
    pci = s.pci or (known.pci if known else None)
    if index is not None and not _says(said, f"GPU {index}"):
        words.append(f"GPU {index}")
    if pci is not None:
        words.append(f"PCI {pci}")
    if uuid is not None and s.kind in ("gpu", "rank"):
        words.append(uuid)
    return ", ".join(words)


def _says(text: str, words: str) -> bool:
    return re.search(rf"(?<![\w/-]){re.escape(words)}(?![\w/-])", text) is not None


def _summary(
    root: Finding,
    findings: list[Finding],
    case: Case,
    jobs: list[str],
    lost: float | None,
    opened_us: int,
    until_us: int,
    world: World,
) -> str:
    parts = [root.summary]
    if where := place(root, world):
        parts.append(where)
    if case.fleet:
        kinds: dict[str, int] = {}
        for f in findings:
            kinds[f.subject.kind] = kinds.get(f.subject.kind, 0) + 1
        first = min(findings, key=lambda f: (f.episode_us, f.subject.id)).subject
        counted = ", ".join(f"{n} {_plural(k, n)}" for k, n in kinds.items())
        parts = [f"silent at the same time: {counted}", f"first {first.kind} {first.id}"]
    alike = sorted({f.subject.id for f in findings if f.cause == root.cause} - {root.subject.id})
    if alike and not case.fleet:
        parts.append(f"also {', '.join(alike[:8])}" + (f" and {len(alike) - 8} more" if len(alike) > 8 else ""))
    if jobs:
        named = ", ".join(jobs[:5]) + (f" and {len(jobs) - 5} more" if len(jobs) > 5 else "")
        parts.append(f"{_plural('job', len(jobs))} {named}")
    if lost is not None:
        parts.append(f"about {lost:.1f} GPU-hours lost per hour")
    if len(findings) > 1 and not case.fleet:
        parts.append(f"{len(findings) - 1} {_plural('symptom', len(findings) - 1)} folded in")
    since = datetime.fromtimestamp(opened_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    age = until_us - opened_us
    parts.append(f"since {since}" + (f" ({_age(age)})" if age >= 1_000_000 else ""))
    return "; ".join(parts)


def _gpu_hours_lost(findings: list[Finding], world: World) -> float | None:
    """World size x (1 - 1/slowdown), summed over jobs; the slowest rank of a job counts. An upper bound."""
    slowest: dict[str, float] = {}
    for f in findings:
        if f.detector == "straggler" and f.subject.job is not None and f.value is not None and f.value > 1:
            slowest[f.subject.job] = max(slowest.get(f.subject.job, 1.0), f.value)
    lost = [
        size * (1 - 1 / slow)
        for job, slow in slowest.items()
        if (size := world.world_size(findings[0].cluster, job)) is not None
    ]
    return round(sum(lost), 3) if lost else None


def _evidence(state: CorrelatorState, case: Case, symptoms: list[str]) -> list[Evidence]:
    root = state.members[case.root].finding
    rows = list(root.evidence)
    for key in symptoms[:20]:
        f = state.members[key].finding
        rows.append(Evidence(what=f"{f.detector}: {f.summary}", value=f.value, unit=f.unit, ts_us=f.ts_us))
    if len(symptoms) > 20:
        rows.append(Evidence(what="further symptoms folded in", value=float(len(symptoms) - 20)))
    return rows


def _plural(word: str, n: int) -> str:
    return word if n == 1 else f"{word}s"


def _age(us: int) -> str:
    seconds = max(0, us) // 1_000_000
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7200:
        return f"{seconds // 60} min"
    return f"{seconds / 3600:.1f} h"
