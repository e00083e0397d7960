"""What one finding takes off a node: how many points, of which part, and whether it is a hard fault."""

from streams.contract import Finding
from streams.correlator_parts import finding_gpu
from streams.health_book import Mark
from streams.health_limits import HealthLimits
from streams.health_points import HARD, points_of
from streams.health_score import SILENT
from streams.placements import Named
from streams.world import World


def mark_of(finding: Finding, node: str, world: World, limits: HealthLimits) -> Mark:
    """The mark of an open finding on a node."""
    kind = finding.subject.kind
    row = points_of(finding.cause, limits.points, limits.other)
    points = row.of(finding.severity)
    if row.needs_fabric and not _needs_fabric(world.models_on_node(finding.cluster, node), limits):
        points = min(points, limits.other)
    # One of several parts that may be meant is no verdict.
    points = 0.0 if finding.candidates and points < HARD else points
    gpu = finding_gpu(finding, world) if kind in ("gpu", "rank") else None
    silent = finding.detector == "silence" and kind == "node"
    return Mark(
        part=f"gpu {gpu}" if gpu else f"{kind} {finding.subject.id}",
        cause=finding.cause,
        kind=SILENT if silent else finding.detector,
        points=0.0 if silent else points,
        hard=points >= HARD,
        since_us=finding.episode_us,
        ts_us=finding.ts_us,
    )


def is_replaced(mark: Mark, name: Named, world: World) -> bool:
    """Does another GPU stand in the slot of the one that a node's mark is about?"""
    kind, _, uuid = mark.part.partition(" ")
    place = world.place(name.cluster, uuid) if kind == "gpu" else None
    if place is None or place.pci is None or place.node != name.name:
        return False
    return world.gpu_at(name.cluster, name.name, place.pci) not in (None, uuid)


def _needs_fabric(models: set[str], limits: HealthLimits) -> bool:
    """By the models of a node's GPUs; one of an unknown model is taken to need it."""
    bridged = all(any(part in model for part in limits.bridge_models) for model in models)
    board = any(part in model for model in models for part in limits.fabric_models)
    return not models or (board and not bridged)
