"""Findings about driver errors."""

from msgspec import structs

from collectors.contract.kernel import KernelEvent
from streams.catalog import ACTIONS, ASKS, VERSION
from streams.contract import Evidence, Finding, Subject
from streams.detectors.xid_state import MOST, Group, XidState
from streams.gpus import gpu_subject

DETECTOR = "xid"


def found(state: XidState, group: Group, event: KernelEvent) -> Finding:
    """The episode as it stands with its last event."""
    subject = subject_of(state, event)
    return Finding(
        cluster=event.cluster,
        detector=DETECTOR,
        state="opened",
        subject=subject,
        episode_us=event.ts_us,
        ts_us=event.ts_us,
        severity=group.severity,
        cause=group.verdict.cause,
        value=float(group.count),
        unit="events",
        summary=f"{_place(subject)}: {group.verdict.words}",
        evidence=_evidence(group, event, state.kept.driver),
        action=action_of(group),
        confidence=group.verdict.confidence or ("medium" if group.by_gauge else None),
    )


def edge_of(state: XidState, name: str, group: Group, event: KernelEvent) -> Finding | None:
    """The edge to send. Another thing to do is news as well; it only ever asks for more, so it is rare.

    The edges of an episode are in the order of their times, also where a line came late.
    """
    episodes = state.kept.episodes
    last = episodes.open.get(name)
    if last is None:
        return episodes.report(name, found(state, group, event), most=MOST)
    action = action_of(group)
    known = (last.severity, last.cause, last.action) == (group.severity, group.verdict.cause, action)
    if known and last.value is not None and group.count <= last.value:
        return None  # a line of a storm: the same again, before anything is built of it
    finding = found(state, group, event)
    if finding.ts_us <= last.ts_us:
        finding = structs.replace(finding, ts_us=last.ts_us + (1 if last.state == "updated" else 0))
    edge = episodes.report(name, finding, most=MOST)
    if edge is None and action != last.action:
        edge = structs.replace(finding, state="updated", episode_us=last.episode_us, subject=last.subject)
        episodes.open[name] = edge
    return edge


def action_of(group: Group) -> str:
    """What the bin asks for, whose word that is where it is the driver's, and what the workflow adds."""
    asked = f"{ACTIONS[group.asked]} ({ASKS}{group.asks})" if group.asks else ACTIONS[group.asked]
    return f"{asked}; {group.verdict.then}" if group.verdict.then else asked


def subject_of(state: XidState, event: KernelEvent) -> Subject:
    """The GPU by all its names, as far as a scrape or the log has told them; a switch; else the node."""
    node = event.node
    if event.kind == "sxid":
        switch = event.pci or event.device or "nvswitch"
        return Subject(kind="device", id=f"{node}/{switch}", node=node, device=f"{node}/{switch}", pci=event.pci)
    part = state.parts.get(event.pci or "")
    if part is not None and event.gpu_uuid in (None, part.uuid):
        return gpu_subject(node, part)
    if event.gpu_uuid is not None:
        return Subject(kind="gpu", id=event.gpu_uuid, node=node, gpu_uuid=event.gpu_uuid, pci=event.pci)
    if event.pci is not None:
        return Subject(kind="gpu", id=f"{node}/{event.pci}", node=node, pci=event.pci)
    return Subject(kind="node", id=node, node=node)


def _evidence(group: Group, event: KernelEvent, driver: str | None) -> list[Evidence]:
    found = [Evidence(what=f"{ASKS}{group.asks}")] if group.asks else []
    found += [Evidence(what=fact) for fact in group.verdict.facts]
    found += [Evidence(what=code, value=float(n), unit="lines") for code, n in group.codes.items()]
    who = event.process or (f"pid {event.pid}" if event.pid is not None else None)
    if who is not None:
        found.append(Evidence(what=f"process: {who}"))
    if event.mig is not None:
        found.append(Evidence(what=f"MIG instance {event.mig}"))
    found.append(Evidence(what=(event.raw or event.detail or event.kind)[:240], ts_us=event.ts_us))
    if event.kind == "xid":
        by = f"judged by NVIDIA's Xid catalogue of {VERSION}, driver {driver or 'not known'}"
        found.append(Evidence(what=by))
    return found


def _place(subject: Subject) -> str:
    if subject.kind == "device":
        return f"NVSwitch {subject.id}"
    if subject.kind == "node":
        return f"a GPU of {subject.node}"
    name = subject.gpu_uuid or subject.pci if subject.gpu_index is None else subject.gpu_index
    return f"GPU {name} of {subject.node}"
