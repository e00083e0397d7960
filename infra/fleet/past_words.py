"""What the streaming jobs said of a past: findings, incidents and node health, written from the truth.

A week at one scrape a minute is too coarse for the detectors themselves, which judge by the second.
"""

from collections.abc import Iterator
from typing import Literal

from infra.fleet.fault import KINDS, Fault
from infra.fleet.scenario import Scenario
from infra.fleet.telemetry import Pair
from streams.causes import cause_row, runbook
from streams.contract import (
    FINDINGS,
    INCIDENTS,
    NODE_HEALTH,
    Finding,
    HealthReason,
    Incident,
    NodeHealth,
    Severity,
    Subject,
    finding_key,
)

NOTICED_S = 20.0
"""From a fault to its finding."""
HARD = frozenset({"gpu_lost"})
POINTS = {
    "thermal_throttle": 15.0,
    "power_brake": 15.0,
    "slow_host": 25.0,
    "ecc_growth": 10.0,
    "ecc_uncorrectable": 40.0,
}
"""Taken off a node's score while the fault lasts; a hard one takes all."""


def spoken(scenario: Scenario, start_us: int, cluster: str) -> Iterator[Pair]:
    """In time order; every node is healthy at first."""
    said: list[Pair] = [(NODE_HEALTH, _health(node, start_us, [], cluster)) for node in scenario.layout.node_names]
    edges: list[tuple[int, str, HealthReason, bool]] = []
    for fault in scenario.faults:
        if not fault.page:
            continue
        from_us = start_us + round((fault.from_s + NOTICED_S) * 1e6)
        to_us = start_us + round((fault.to_s + NOTICED_S) * 1e6)
        opened = _finding(fault, scenario, "opened", from_us, from_us, cluster)
        said += [(FINDINGS, opened), (INCIDENTS, _incident(opened, "opened", None))]
        if fault.to_s < scenario.seconds:
            cleared = _finding(fault, scenario, "cleared", from_us, to_us, cluster)
            said += [(FINDINGS, cleared), (INCIDENTS, _incident(cleared, "cleared", to_us))]
        if fault.kind in HARD or fault.kind in POINTS:
            reason = HealthReason(
                cause=opened.cause,
                points=100.0 if fault.kind in HARD else POINTS[fault.kind],
                part=opened.subject.id,
                since_us=from_us,
                finding=finding_key(opened),
            )
            for node in _nodes(fault, scenario):
                edges += [(from_us, node, reason, True), (to_us, node, reason, False)]
    standing: dict[str, list[HealthReason]] = {}
    for at_us, node, reason, begins in sorted(edges, key=lambda edge: (edge[0], edge[1], edge[3])):
        reasons = [r for r in standing.get(node, []) if r != reason]
        standing[node] = [*reasons, reason] if begins else reasons
        if at_us <= start_us + scenario.seconds * 1e6:
            said.append((NODE_HEALTH, _health(node, at_us, standing[node], cluster)))
    yield from sorted(said, key=lambda pair: pair[1].ts_us)


def _health(node: str, ts_us: int, reasons: list[HealthReason], cluster: str) -> NodeHealth:
    score = max(0.0, 100.0 - sum(reason.points for reason in reasons))
    state: Literal["healthy", "suspect", "cordoned"] = (
        "cordoned" if score < 50.0 else "suspect" if score < 80.0 else "healthy"
    )
    return NodeHealth(
        cluster=cluster,
        ts_us=ts_us,
        node=node,
        score=score,
        schedulable=state != "cordoned",
        state=state,
        reasons=reasons,
    )


def _finding(
    fault: Fault,
    scenario: Scenario,
    state: Literal["opened", "cleared"],
    episode_us: int,
    ts_us: int,
    cluster: str,
) -> Finding:
    severity: Severity = "warning" if fault.kind in ("ecc_growth", "slow_host") else "critical"
    return Finding(
        cluster=cluster,
        ts_us=ts_us,
        detector=KINDS[fault.kind].detector,
        state=state,
        subject=_subject(fault, scenario),
        episode_us=episode_us,
        severity=severity,
        cause=fault.expect[0],
        value=fault.size,
        summary=f"{fault.kind.replace('_', ' ')} on {fault.target}",
        jobs=[
            plan.name
            for plan in scenario.jobs
            if plan.start_s <= fault.to_s and set(plan.nodes) & set(_nodes(fault, scenario))
        ],
    )


def _incident(finding: Finding, state: Literal["opened", "cleared"], cleared_us: int | None) -> Incident:
    uuid = finding.subject.gpu_uuid
    return Incident(
        cluster=finding.cluster,
        ts_us=finding.ts_us,
        id=f"past-{finding.episode_us}-{finding.subject.id}",
        state=state,
        severity=finding.severity,
        cause=finding_key(finding),
        cause_word=finding.cause,
        detector=finding.detector,
        subject=finding.subject,
        jobs=finding.jobs,
        gpus=[uuid] if uuid is not None else [],
        opened_us=finding.episode_us,
        cleared_us=cleared_us,
        summary=finding.summary,
        action=cause_row(finding.cause).action,
        runbook=runbook(finding.cause),
        owner=cause_row(finding.cause).owner,
    )


def _subject(fault: Fault, scenario: Scenario) -> Subject:
    layout, kind = scenario.layout, KINDS[fault.kind].target
    if kind == "gpu":
        slot = layout.gpu_by_name[fault.target]
        return Subject(kind="gpu", id=slot.uuid, node=slot.node, gpu_uuid=slot.uuid, gpu_index=slot.index, pci=slot.pci)
    if kind == "port":
        cable = layout.cable_by_name[fault.target]
        return Subject(kind="port", id=fault.target, device=cable.device, port=cable.port, priority=3)
    if kind == "job":
        return Subject(kind="job", id=fault.target, job=fault.target)
    node = _nodes(fault, scenario)[0]
    return Subject(kind="node", id=node, node=node)


def _nodes(fault: Fault, scenario: Scenario) -> tuple[str, ...]:
    """Nodes that a fault is on."""
    layout, kind = scenario.layout, KINDS[fault.kind].target
    if kind == "gpu":
        return (layout.gpu_by_name[fault.target].node,)
    if kind == "rack":
        return layout.rack_nodes[fault.target]
    if kind == "node":
        return (fault.target,)
    if kind == "port":
        return (layout.cable_by_name[fault.target].gpu.node,)
    return scenario.plan(fault.target).nodes
