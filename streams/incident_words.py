"""The words of an incident: what is wrong with its numbers, where it is, who is hurt, since when."""

import re
from datetime import UTC, datetime

from streams.cables import is_own
from streams.contract import Candidate, Evidence, Finding
from streams.correlator_parts import finding_gpu, finding_node
from streams.correlator_state import Case, CorrelatorState
from streams.world import World

_NAMES = {"rack": "rack", "device": "switch", "node": "node"}
_CHILDREN = {"power_brake": "node", "heat": "node", "ports": "cable", "gpus": "GPU"}


def place(finding: Finding, world: World, said: str = "") -> str:
    """Where a person finds the part: node, GPU index, UUID and PCI address, or both ends of a cable.

    What was `said` already is not said again; empty when nothing is left to say.
    """
    s, c = finding.subject, finding.cluster
    words: list[str] = []
    if s.kind == "port" and s.device is not None and s.port is not None:
        link = world.link(c, s.device, s.port)
        if not _says(said, f"{s.device} {s.port}"):
            words.append(f"{s.device} port {s.port}")
        if link is not None and not is_own(link):
            far = f"{link.far_device} {link.far_port}" if link.far_port else link.far_device
            words.append(f"cabled to {far}" + (f" in {link.node}" if link.node not in (None, link.far_device) else ""))
        elif told_of := sorted(e for e in world.cables.ends(c, s.device, s.port) if e.partition("/")[0] != s.device):
            words.append(f"cabled to {told_of[0].replace('/', ' ', 1)}")
        if (planned := world.planned(c, s.device, s.port)) is not None:
            words.append(f"which LLDP sees where the cable map says {planned.far_device}")
        return ", ".join(words)
    node, uuid = finding_node(finding, world), finding_gpu(finding, world)
    if s.kind == "rank":
        if not _says(said, f"rank {s.rank} of {s.job}"):
            words.append(f"rank {s.rank} of {s.job}")
    elif s.kind != "gpu" and not _says(said, s.id):
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
    if node is not None and (rack := world.states.rack(c, node)) is not None and not _says(said, rack):
        words.append(f"rack {rack}")
    if node is not None and (serial := world.states.serial(c, node)) is not None:
        words.append(f"chassis {serial}")
    return ", ".join(words)


def _says(text: str, words: str) -> bool:
    return re.search(rf"(?<![\w/-]){re.escape(words)}(?![\w/-])", text) is not None


def summary(
    root: Finding,
    findings: list[Finding],
    case: Case,
    jobs: list[str],
    possible: list[Candidate],
    lost: float | None,
    until_us: int,
    world: World,
) -> str:
    """What is wrong with its numbers, where, who is hurt, what it costs, since when. `until_us`: told at this time."""
    parts = _what(root, findings, case, world)
    if jobs:
        named = ", ".join(_job(root.cluster, job, world) for job in jobs[:5])
        more = f" and {len(jobs) - 5} more" if len(jobs) > 5 else ""
        parts.append(f"{plural('job', len(jobs))} {named}{more}")
    elif possible:
        likely = ", ".join(f"{c.id} ({c.score:.0%})" for c in possible[:3])
        more = f" and {len(possible) - 3} more" if len(possible) > 3 else ""
        parts.append(f"no job is known to be hurt, possibly {likely}{more}")
    elif root.subject.kind not in ("job", "rank", "comm", "collector", "pool"):
        parts.append("no job on it")
    if lost is not None:
        parts.append(f"about {lost:.1f} GPU-hours lost per hour")
    if len(findings) > 1 and not case.fleet:
        parts.append(f"{len(findings) - 1} {plural('symptom', len(findings) - 1)} folded in")
    opened_us = min(case.opened_us, root.episode_us)
    since = datetime.fromtimestamp(opened_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    age = until_us - opened_us
    parts.append(f"since {since}" + (f" ({age_words(age)})" if age >= 1_000_000 else ""))
    return "; ".join(parts)


def _job(cluster: str, job: str, world: World) -> str:
    """With what is at stake."""
    size = world.world_size(cluster, job)
    return job if size is None else f"{job} ({size} {plural('rank', size)})"


def _what(root: Finding, findings: list[Finding], case: Case, world: World) -> list[str]:
    shared = case.common
    if case.fleet:
        kinds: dict[str, set[str]] = {}
        for f in findings:
            kinds.setdefault(f.subject.kind, set()).add(f.subject.id)
        first = min(findings, key=lambda f: (f.episode_us, f.subject.id)).subject
        counted = ", ".join(f"{len(names)} {plural(k, len(names))}{_named(names)}" for k, names in kinds.items())
        where = "" if shared is None else f", all of {_NAMES[shared.kind]} {shared.id}"
        return [f"silent at the same time: {counted}{where}", f"first {first.kind} {first.id}"]
    alike = sorted({f.subject.id for f in findings if f.cause == root.cause} - {root.subject.id})
    parts = [root.summary]
    if shared is not None:
        children = plural(_CHILDREN[shared.what], shared.count)
        parts = [f"{shared.count} {children} of {_NAMES[shared.kind]} {shared.id} at once", f"first {root.summary}"]
    if where := place(root, world, root.summary):
        parts.append(where)
    if alike:
        parts.append(f"also {', '.join(alike[:8])}" + (f" and {len(alike) - 8} more" if len(alike) > 8 else ""))
    return parts


def _named(names: set[str]) -> str:
    return f" ({', '.join(sorted(names))})" if 1 < len(names) < 4 else ""


def evidence(state: CorrelatorState, case: Case, symptoms: list[str]) -> list[Evidence]:
    """Of the cause, then a row for each of the first symptoms."""
    root = state.members[case.root].finding
    rows = list(root.evidence)
    for key in symptoms[:20]:
        f = state.members[key].finding
        rows.append(Evidence(what=f"{f.detector}: {f.summary}", value=f.value, unit=f.unit, ts_us=f.ts_us))
    if len(symptoms) > 20:
        rows.append(Evidence(what="further symptoms folded in", value=float(len(symptoms) - 20)))
    return rows


def plural(word: str, n: int) -> str:
    """The word for so many."""
    return word if n == 1 else f"{word}s"


def age_words(us: int) -> str:
    """A duration as a person says it."""
    seconds = max(0, us) // 1_000_000
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7200:
        return f"{seconds // 60} min"
    return f"{seconds / 3600:.1f} h"
