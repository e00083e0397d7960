"""Which kind of fault explains which: hardware over symptom, and how grave it is by who is hurt."""

from streams.causes import cause_row
from streams.contract import Finding, Severity
from streams.correlator_parts import Parts, collector_host, finding_gpu, finding_node
from streams.placements import Named
from streams.world import World

BROKEN = 90
"""From this level on a GPU is broken for good enough to take its node down with it."""
SYMPTOM = 50
"""Below it a finding shows an effect: it waits a little for its cause before anyone is told."""

_REMOTE_COLLECTOR = 42
"""A collector that runs elsewhere and fell silent explains the silence of what it read, not the other way round."""

HURTS_BY_PLACE = ("throttle", "lossless_drop")
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
    if cause_parts.own & effect_parts.own:
        return level(cause, world) >= level(effect, world)
    if level(cause, world) <= level(effect, world):
        return False
    if effect.subject.kind == "job":
        return effect.cluster == cause.cluster and effect.subject.id in jobs
    if not cause_parts.own & effect_parts.upstream:
        return False
    if effect.detector == "silence" and effect.subject.kind == "node" and cause.subject.kind == "gpu":
        return level(cause, world) >= BROKEN
    return True


def jobs_hurt(finding: Finding, world: World) -> set[str]:
    """Running jobs that the finding's part carries."""
    s, c = finding.subject, finding.cluster
    if s.job is not None:
        return {s.job} if world.is_running(c, s.job) else set()
    if s.kind == "gpu":
        uuid = finding_gpu(finding, world)
        return world.jobs_on_gpu(c, uuid) if uuid else set()
    if s.kind == "port" and s.device is not None and s.port is not None:
        return world.jobs_on_port(c, s.device, s.port)
    if s.kind == "device":
        return world.jobs_below(c, s.id)
    if s.kind == "node":
        return world.jobs_on_node(c, s.id)
    return set()


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


def severity(cause: Finding, jobs: set[str], slowed: bool, fleet: bool) -> Severity:
    """`critical` pages, `warning` is a ticket. `slowed`: a rank or job is held up by it right
    now. `fleet`: many parts went silent at once.

    Hardware that breaks or throttles is critical when a job is on it and a warning when nobody is. What only
    warns of a later fault stays a warning, until it slows a job.
    """
    hardware = cause.severity == "critical" or cause.detector in HURTS_BY_PLACE
    if fleet:
        return "critical"
    if cause.detector == "straggler" or cause.subject.kind in ("rank", "job", "collector"):
        return cause.severity
    if slowed or (hardware and jobs):
        return "critical"
    return "warning"


def _is_node(finding: Finding, world: World) -> bool:
    return Named(finding.cluster, collector_host(finding.subject.id)) in world.nodes
