"""What people and schedulers have to say of an incident: seen, muted, or explained by planned work."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from collectors.contract.message import END_US
from streams.contract import Finding, Incident, Subject
from streams.correlator_parts import collector_host, finding_gpu, finding_node
from streams.world import World

LINK_DOWN = "link_down"
LINK_STATE = frozenset({LINK_DOWN, "link_flap"})
"""Causes that working on a link or its far end brings about."""
LOSS = frozenset({"lossless_drop", "grey_loss"})
"""Causes that mean lost packets: no planned work excuses them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How an incident stands with people at one moment."""

    acked_by: str | None = None
    acked_us: int | None = None
    muted_until_us: int | None = None
    muted_by: str | None = None
    planned: str | None = None


def standing(
    incident: str, word: str, subject: Subject, root: Finding, members: Sequence[Finding], world: World, ts_us: int
) -> Standing:
    """`members`: what is open of the incident, its root included; `subject`: what it blames."""
    ack = world.orders.ack(root.cluster, incident)
    names = part_names(root, world) | {f"{subject.kind}:{subject.id}"}
    mute = world.orders.mute(root.cluster, incident, word, names, ts_us, word in LOSS)
    return Standing(
        acked_by=ack.by if ack else None,
        acked_us=ack.ts_us if ack else None,
        muted_until_us=(END_US - 1 if mute.until_us is None else mute.until_us) if mute else None,
        muted_by=mute.by if mute else None,
        planned=planned_of_all(members, world, ts_us),
    )


def standing_told(incident: Incident) -> Standing:
    """As an incident was told last."""
    return Standing(
        acked_by=incident.acked_by,
        acked_us=incident.acked_us,
        muted_until_us=incident.muted_until_us,
        muted_by=incident.muted_by,
        planned=incident.planned,
    )


def standing_words(incident: Incident) -> str:
    """As a person reads it; empty when nobody said anything."""
    words = [f"seen by {incident.acked_by}"] if incident.acked_by is not None else []
    if incident.muted_until_us is not None:
        ends = (
            "until it is unmuted"
            if incident.muted_until_us >= END_US - 1
            else f"until {_clock(incident.muted_until_us)}"
        )
        words.append(f"muted by {incident.muted_by} {ends}")
    if incident.planned is not None:
        words.append(f"planned: {incident.planned}")
    if incident.folded_into is not None:
        words.append(f"part of {incident.folded_into}")
    return ", ".join(words)


def planned_of_all(findings: Iterable[Finding], world: World, ts_us: int) -> str | None:
    """The planned work that explains all of these findings; None when it does not explain one of them."""
    why: str | None = None
    for finding in findings:
        said = planned(finding, world, ts_us)
        if said is None:
            return None
        why = why or said
    return why


def planned(finding: Finding, world: World, ts_us: int) -> str | None:
    """The planned work that explains a finding, in words. It explains links and silence, and never loss."""
    if finding.detector != "silence" and finding.cause not in LINK_STATE:
        return None
    names = part_names(finding, world)
    order = world.orders.work_on(finding.cluster, names, ts_us)
    if order is not None:
        part = next(p for p in order.parts if p in names)
        until = "" if order.until_us is None else f" until {_clock(order.until_us)}"
        return f"maintenance of {part} by {order.by}{until}" + (f": {order.why}" if order.why else "")
    for name in sorted(names):
        kind, _, node = name.partition(":")
        said = world.states.planned(finding.cluster, node, ts_us) if kind == "node" else None
        if said is not None:
            return said
    return None


def part_names(finding: Finding, world: World) -> set[str]:
    """`kind:id` of the part and of all that it stands in: what an order about any of them is about."""
    s, c = finding.subject, finding.cluster
    names = {f"{s.kind}:{s.id}"}
    nodes = {finding_node(finding, world)}
    if (uuid := finding_gpu(finding, world)) is not None:
        names.add(f"gpu:{uuid}")
    if s.job is not None:
        names.add(f"job:{s.job}")
    if s.kind == "collector":
        nodes.add(collector_host(s.id))
    if s.kind == "port" and s.device is not None and s.port is not None:
        for end in world.cables.ends(c, s.device, s.port):
            names |= {f"port:{end}", f"device:{end.partition('/')[0]}"}
            link = world.link(c, *end.partition("/")[::2])
            nodes.add(link.node if link is not None else None)
    if s.device is not None:
        names.add(f"device:{s.device}")
    for node in nodes - {None, ""}:
        assert node is not None
        names.add(f"node:{node}")
        if (rack := world.states.rack(c, node)) is not None:
            names.add(f"rack:{rack}")
    return names


def _clock(us: int) -> str:
    return datetime.fromtimestamp(us / 1e6, UTC).strftime("%Y-%m-%d %H:%M UTC")
