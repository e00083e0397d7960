"""Parts that several findings have in common: what brakes, overheats or drops in many places at once is one fault."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from streams.causes import cause_row
from streams.contract import Finding, Subject, SubjectKind
from streams.correlator_limits import CorrelatorLimits
from streams.correlator_parts import collector_host, finding_gpu, finding_node
from streams.world import World

BRAKE = "power_brake"
HEAT = frozenset({"thermal_throttle", "hw_slowdown"})
PORT_FAULTS = frozenset({"link_down", "link_flap", "lossless_drop", "bad_link"})
SYMPTOM = 50
"""Below this level a finding shows an effect: it waits a little for its cause before anyone is told."""

ACTIONS = {
    ("rack", BRAKE): "look at the rack's power (feeds, PDU, power shelf) before any single node",
    ("rack", "heat"): "look at the rack's cooling (CDU, coolant flow, inlet air) before any single node",
    ("device", "ports"): "look at the switch (its log, power, modules, configuration) before any single cable",
    ("node", "ports"): "look at the host: power, PCIe and NICs before any single cable",
    ("node", "gpus"): "look at the node as a whole (fans or coolant, power supplies, baseboard) before any single GPU",
}


class Common(Struct, frozen=True):
    """What the findings of a case share."""

    kind: SubjectKind
    id: str
    what: str
    """The kind of company: `power_brake`, `heat`, `ports`, `gpus` or `silence`."""
    count: int
    """Parts of it that have the fault."""


@dataclass(frozen=True, slots=True)
class Group:
    """A part that a finding stands in with others of its kind."""

    kind: Literal["node", "device", "rack"]
    id: str
    what: str
    alike: str
    """Only findings with the same word are company."""
    child: str
    need: int
    """So many different children have one fault."""

    @property
    def action(self) -> str:
        """What to do first."""
        return ACTIONS[(self.kind, self.what)]


def groups(finding: Finding, world: World, limits: CorrelatorLimits) -> list[Group]:
    """The narrowest first."""
    if finding.subject.kind == "port" and finding.cause in PORT_FAULTS:
        return _of_port(finding, world, limits)
    if finding.subject.kind not in ("gpu", "node"):
        return []
    out: list[Group] = []
    node, uuid = finding_node(finding, world), finding_gpu(finding, world)
    if node is None:
        return out
    if finding.subject.kind == "gpu" and cause_row(finding.cause).weight(finding.severity) >= SYMPTOM:
        share = math.ceil(limits.gpus_share * len(world.gpus_on_node(finding.cluster, node)))
        child = uuid or finding.subject.id
        out.append(Group("node", node, "gpus", finding.cause, child, max(limits.gpus, share)))
    rack = world.states.rack(finding.cluster, node)
    if rack is not None and finding.cause == BRAKE:
        out.append(Group("rack", rack, BRAKE, BRAKE, node, limits.braked))
    elif rack is not None and finding.cause in HEAT:
        out.append(Group("rack", rack, "heat", "heat", node, limits.together))
    return out


def common(findings: list[Finding], root: Finding, world: World, limits: CorrelatorLimits) -> Common | None:
    """What the root of a case has in common with enough of the others; of several, what takes in the most."""
    mine = groups(root, world, limits)
    if not mine or len(findings) < 2:
        return None
    children: dict[tuple[str, str, str], set[str]] = {}
    for finding in findings:
        if finding.cluster == root.cluster:
            for g in groups(finding, world, limits):
                children.setdefault((g.kind, g.id, g.alike), set()).add(g.child)
    found = [(len(children[(g.kind, g.id, g.alike)]), g) for g in mine]
    enough = [(n, g) for n, g in found if n >= g.need]
    if not enough:
        return None
    covered = {g: sum(1 for f in findings if any(_same(g, o) for o in groups(f, world, limits))) for _, g in enough}
    n, best = max(enough, key=lambda pair: covered[pair[1]])
    return Common(best.kind, best.id, best.what, n)


def common_of_silent(silent: Iterable[Finding], world: World, most: int | None = None) -> Common | None:
    """The rack or switch that all silent parts share, the narrowest of several, unless the whole known fleet does.
    `most`: nodes that it may have."""
    parts = list(silent)
    cluster = parts[0].cluster
    shared: set[tuple[SubjectKind, str]] | None = None
    for finding in parts:
        above = _above(finding, world)
        shared = above if shared is None else shared & above
        if not shared:
            return None
    nodes = {n.name for n in world.nodes if n.cluster == cluster}
    found: list[tuple[int, SubjectKind, str]] = []
    for kind, name in shared or ():
        below = world.nodes_below(cluster, name) if kind == "device" else world.states.nodes_in(cluster, name)
        if nodes - below and (most is None or len(below) <= most):
            found.append((len(below), kind, name))
    if not found:
        return None
    _, kind, name = min(found)
    return Common(kind, name, "silence", len(parts))


def subject(common: Common) -> Subject:
    """The part as an incident names it."""
    return Subject(
        kind=common.kind,
        id=common.id,
        node=common.id if common.kind == "node" else None,
        device=common.id if common.kind == "device" else None,
    )


def _of_port(finding: Finding, world: World, limits: CorrelatorLimits) -> list[Group]:
    s, c = finding.subject, finding.cluster
    if s.device is None or s.port is None:
        return []
    ends = world.cables.ends(c, s.device, s.port)
    cable = min(ends)
    links = [world.link(c, *end.partition("/")[::2]) for end in ends]
    nodes = {s.node, *(link.node for link in links if link is not None)} - {None}
    devices = {end.partition("/")[0] for end in ends}
    out = [Group("node", node, "ports", "ports", cable, limits.together) for node in sorted(n for n in nodes if n)]
    return out + [Group("device", name, "ports", "ports", cable, limits.together) for name in sorted(devices)]


def _above(finding: Finding, world: World) -> set[tuple[SubjectKind, str]]:
    """Racks and switches that a silent part hangs on."""
    c, s = finding.cluster, finding.subject
    node = s.id if s.kind == "node" else collector_host(s.id) if s.kind == "collector" else s.node
    out: set[tuple[SubjectKind, str]] = {("device", s.id)} if s.kind == "device" else set()
    if node:
        rack = world.states.rack(c, node)
        out |= {("rack", rack)} if rack is not None else set()
        out |= {("device", port.partition("/")[0]) for port in world.cables.of_node(c, node)}
    return out


def _same(a: Group, b: Group) -> bool:
    return (a.kind, a.id, a.alike) == (b.kind, b.id, b.alike)
