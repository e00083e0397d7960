"""Which parts a fault is on, and which it holds up: names to compare with the subject of an incident."""

from dataclasses import dataclass
from functools import cache

from infra.fleet.fault import KINDS, Fault
from infra.fleet.job_plan import JobPlan
from infra.fleet.kernel_log import NVSWITCH
from infra.fleet.layout import GpuSlot, Layout
from infra.fleet.rank import Member, communicator, members
from infra.fleet.scenario import Scenario
from streams.contract import Incident


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Names of the form `kind:id`."""

    own: frozenset[str]
    held_up: frozenset[str]
    silenced: frozenset[str] = frozenset()
    """What falls silent with it; excuses nothing but silence."""


def parts(incident: Incident) -> frozenset[str]:
    """The names of the part that an incident blames. Not of the node around it: that would excuse too much."""
    s = incident.subject
    names = {f"{s.kind}:{s.id}"}
    if s.gpu_uuid is not None:
        names.add(f"gpu:{s.gpu_uuid}")
    if s.node is not None and s.pci is not None:
        names.add(f"gpu:{s.node}/{s.pci}")
    if s.kind == "rank" and len(incident.gpus) == 1:
        # Rank numbers move when a job goes on without a node; the GPU does not.
        names = {f"gpu:{incident.gpus[0]}"}
    if s.kind == "collector":
        names.add(f"node:{s.id.partition('@')[2].partition(':')[0]}")
    return frozenset(names)


def reach(fault: Fault, scenario: Scenario) -> Reach:
    """Where a fault is, and what it holds up."""
    layout, target = scenario.layout, fault.target
    own: set[str] = set()
    held: set[str] = set()
    kind = KINDS[fault.kind].target
    if kind == "gpu":
        slot = layout.gpu_by_name[target]
        own |= _gpu(slot, scenario)
        held |= {f"node:{slot.node}"} | _jobs_on((slot.node,), scenario)
        if fault.kind == "gpu_missing":
            own.add(f"node:{slot.node}")
    elif kind in ("node", "rack"):
        nodes = layout.rack_nodes[target] if kind == "rack" else (target,)
        for node in nodes:
            own.add(f"node:{node}")
            if fault.kind in ("sxid", "nvswitch_reset"):
                own |= {f"device:{node}/{NVSWITCH}", f"device:{node}/nvswitch0"}
            if kind == "rack":
                own.add(f"rack:{target}")
            if KINDS[fault.kind].silences:
                own |= {f"collector:{source}@{node}" for source in ("dcgm", "steps", "kernel")}
            for slot in layout.gpu_slots[node]:
                own |= _gpu(slot, scenario)
            if fault.kind in ("node_down", "rack_down"):
                held |= {f"port:{c.name}" for c in layout.cable_by_name.values() if c.gpu.node == node}
        held |= _jobs_on(nodes, scenario)
    elif kind == "switch":
        own |= {f"device:{target}"} | {f"collector:gnmi@{target}"}
        nodes = tuple(dict.fromkeys(cable.gpu.node for cable in layout.cables[target]))
        for cable in layout.cables[target]:
            held |= _gpu(cable.gpu, scenario) | {f"port:{cable.name}", f"port:{cable.gpu.node}/rdma{cable.gpu.index}"}
        held |= {f"port:{name}" for trunk in layout.trunks[target] for name in (trunk.name, trunk.far_name)}
        held |= {f"node:{node}" for node in nodes} | _jobs_on(nodes, scenario)
    elif kind == "port":
        cable = layout.cable_by_name[target]
        own |= {f"port:{target}", f"port:{cable.gpu.node}/rdma{cable.gpu.index}"}
        held |= _gpu(cable.gpu, scenario) | {f"node:{cable.gpu.node}", f"device:{cable.device}"}
        held |= _jobs_on((cable.gpu.node,), scenario)
        if fault.kind == "pause_storm":
            held |= {f"port:{name}" for t in layout.trunks[cable.device] for name in (t.name, t.far_name)}
        if fault.kind == "slow_link":
            own |= {f"node:{cable.gpu.node}"} | _gpu(cable.gpu, scenario) | _jobs_on((cable.gpu.node,), scenario)
            own |= _groups_of(cable.gpu, scenario)
    elif kind == "fleet":
        own.add("pool:default")
    else:
        name, _, stage = target.partition("/stage-")
        plan = scenario.plan(name)
        own.add(f"job:{name}")
        for member in _members(plan, scenario):
            if not stage or member.pp == int(stage):
                own |= {f"rank:{name}/{member.rank}", f"gpu:{member.slot.uuid}"}
    stopped = (
        {name for name in own | held if name.startswith("job:")} if KINDS[fault.kind].kills or fault.recovery else set()
    )
    return Reach(
        own=frozenset(own),
        held_up=frozenset(held - own),
        silenced=frozenset(
            name
            for plan in scenario.jobs
            if f"job:{plan.name}" in stopped
            for member in _members(plan, scenario)
            for name in (f"rank:{plan.name}/{member.rank}", f"gpu:{member.slot.uuid}")
        ),
    )


def _gpu(slot: GpuSlot, scenario: Scenario) -> set[str]:
    names = {f"gpu:{slot.uuid}", f"gpu:{slot.node}/{slot.pci}"}
    for plan in scenario.jobs:
        if slot.node in plan.nodes:
            names |= {f"rank:{plan.name}/{m.rank}" for m in _members(plan, scenario) if m.slot.name == slot.name}
    return names


def _groups_of(slot: GpuSlot, scenario: Scenario) -> set[str]:
    """Communicators of the first attempt that a GPU's rank is in: a slow link cannot be told from its group."""
    out: set[str] = set()
    for plan in scenario.jobs:
        for member in _members(plan, scenario) if slot.node in plan.nodes else ():
            if member.slot.name == slot.name:
                out.add(f"comm:{plan.name}/{communicator(plan.name, 0, member)}")
    return out


def jobs_of(fault: Fault, scenario: Scenario) -> tuple[str, ...]:
    """The jobs that a fault strikes or holds up."""
    reached = reach(fault, scenario)
    return tuple(plan.name for plan in scenario.jobs if f"job:{plan.name}" in reached.own | reached.held_up)


def _jobs_on(nodes: tuple[str, ...], scenario: Scenario) -> set[str]:
    return {f"job:{plan.name}" for plan in scenario.jobs if set(nodes) & set(plan.nodes)}


def _members(plan: JobPlan, scenario: Scenario) -> tuple[Member, ...]:
    return _members_at(plan, scenario.layout)


@cache
def _members_at(plan: JobPlan, layout: Layout) -> tuple[Member, ...]:
    slots = tuple(slot for node in plan.nodes for slot in layout.gpu_slots[node])
    return members(plan, slots)
