"""Which kind of fault explains which: hardware over symptom, and how grave it is by who is hurt."""

from collections.abc import Collection

from streams import pause
from streams.causes import cause_row
from streams.contract import Finding, Severity
from streams.correlator_parts import Parts, collector_host, finding_gpu, finding_node
from streams.placements import Named
from streams.standing import LINK_STATE
from streams.world import World

BROKEN = 90
"""From this level on a GPU is broken for good enough to take its node down with it."""
_LINKS_OF_GPUS = frozenset({"nvlink_down", "nvlink_failed", "nvswitch_reset_required"})
"""As grave as that for the GPU, but a host does not die of them."""
_ASKED = "xid_154"
"""The driver asks for a reset or a reboot: it tells no cause of its own, but a node that is restarted for it is no
second fault."""
_REMOTE_COLLECTOR = 42
"""A collector that runs elsewhere and fell silent explains the silence of what it read, not the other way round."""

UNREPORTED = frozenset({"rank_silent", "job_silent", "steps_incomplete"})
"""Reports of steps are missing while the job may go on: so it looks where their collector is gone."""
_STEPS_COLLECTOR = "steps@"

HURTS_BY_PLACE = frozenset({"throttle", "lossless_drop"})
"""Detectors that cannot know whom they hurt: critical when a job runs there, whatever they said."""


def level(finding: Finding, world: World) -> int:
    """Precedence of a finding as a cause."""
    if finding.cause == "collector_silent" and not _is_node(finding, world):
        return _REMOTE_COLLECTOR
    return cause_row(finding.cause).weight(finding.severity)


def explains(
    cause: Finding, cause_parts: Parts, effect: Finding, effect_parts: Parts, jobs: set[str], world: World
) -> bool:
    """May `cause` have brought `effect` about, time aside? `jobs`: those running on the cause's part."""
    if is_outranked(effect, effect_parts, cause, cause_parts, world):
        return True
    if is_outranked(cause, cause_parts, effect, effect_parts, world):
        return False
    if cause_parts.own & effect_parts.own:
        return level(cause, world) >= level(effect, world)
    if level(cause, world) <= level(effect, world):
        return False
    if effect.subject.kind == "job":
        if effect.cause in UNREPORTED and cause.subject.id.startswith(_STEPS_COLLECTOR):
            host = collector_host(cause.subject.id)
            return host is not None and effect.subject.id in world.jobs_on_node(effect.cluster, host)
        return effect.cluster == cause.cluster and effect.subject.id in jobs
    # What a storm holds up still answers those who read it.
    spoiled = cause_parts.own if is_silent_part(effect) else cause_parts.own | cause_parts.reach
    if not spoiled & effect_parts.upstream:
        return False
    if effect.detector == "silence" and effect.subject.kind == "node" and cause.subject.kind == "gpu":
        broken = level(cause, world) >= BROKEN or (cause.cause == _ASKED and cause.severity == "critical")
        return broken and cause.cause not in _LINKS_OF_GPUS
    return True


def is_outranked(effect: Finding, effect_parts: Parts, cause: Finding, cause_parts: Parts, world: World) -> bool:
    """Whatever their levels, did the cause bring this about? The root of a storm its way, a dead host its links."""
    if pause.explains(cause, effect, world.cables):
        return not pause.explains(effect, cause, world.cables)
    return (
        cause.detector == "silence"
        and cause.subject.kind in ("node", "device")
        and effect.cause in LINK_STATE
        and bool(cause_parts.own & effect_parts.upstream)
    )


def is_silent_part(finding: Finding) -> bool:
    """A node, device or collector that fell silent."""
    return finding.detector == "silence" and finding.subject.kind in ("node", "device", "collector")


def silent_place(finding: Finding) -> str:
    """A host or device: a node and the collector on it are silent in one place."""
    s = finding.subject
    return collector_host(s.id) or s.id if s.kind == "collector" else s.id


def gpus_at(finding: Finding, world: World) -> set[str]:
    """UUIDs at the fault's own place."""
    s, c = finding.subject, finding.cluster
    uuid = finding_gpu(finding, world)
    if uuid is not None:
        return {uuid}
    if s.kind == "port" and s.device is not None and s.port is not None:
        link = world.link(c, s.device, s.port)
        if link is not None and link.gpu_uuids:
            return set(link.gpu_uuids)
    node = finding_node(finding, world)
    return world.gpus_on_node(c, node) if node is not None and s.kind in ("node", "port") else set()


def severity(cause: Finding, jobs: Collection[str], slowed: bool, fleet: bool) -> Severity:
    """`critical` pages, `warning` is a ticket. `jobs`: those that are surely on it. `slowed`: a rank or job is held
    up by it right now. `fleet`: many parts went silent at once.

    Hardware that breaks or throttles is critical when a job is on it and a warning when nobody is. What only
    warns of a later fault stays a warning, until it slows a job.
    """
    hardware = cause.severity == "critical" or cause.detector in HURTS_BY_PLACE
    if fleet:
        return "critical"
    if cause.detector == "straggler" or cause.subject.kind in ("rank", "job", "comm", "collector", "pool"):
        return cause.severity
    if slowed or (hardware and jobs):
        return "critical"
    return "warning"


def _is_node(finding: Finding, world: World) -> bool:
    return Named(finding.cluster, collector_host(finding.subject.id)) in world.nodes
