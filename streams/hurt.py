"""Which jobs a fault hurts, and how sure that is: from the part to the jobs whose traffic or ranks are on it.

A score of `SURE` or more is as good as known: the job holds the GPU, the host or the host's own cable. Between
switches traffic takes one of several equal paths, so a job that may cross the cable is a candidate, until one of
its own ranks or hosts shows that it is hurt.
"""

from collections.abc import Collection

from streams.contract import Candidate, Finding
from streams.correlator_parts import finding_gpu
from streams.pause import held_up
from streams.world import World

SURE = 0.8
"""From here on a job counts as hurt; ours."""
RAIL, TREE, HELD_UP = 0.5, 0.2, 0.5
"""A job that crosses a cable between switches of one rail (over the number of equal paths), of a plain fat-tree, and
a job on a switch that is held up by pause. Medium, low and medium in words; the numbers are ours."""


def jobs(finding: Finding, world: World, seen: Collection[str] = ()) -> list[Candidate]:
    """Running jobs that the finding's part may hurt, likeliest first. `seen`: those whose ranks or hosts show it."""
    found = _jobs(finding, world)
    if finding.cause == "pause_storm":
        for device in sorted(held_up(finding, world.cables)):
            for job in world.jobs_below(finding.cluster, device):
                found.setdefault(job, (HELD_UP, f"has ranks below {device}, which is held up"))
    rows = [
        Candidate(kind="job", id=job, score=max(score, SURE), why=f"{why}; its own ranks or hosts show it")
        if job in seen and score < SURE
        else Candidate(kind="job", id=job, score=round(score, 3), why=why)
        for job, (score, why) in found.items()
    ]
    return sorted(rows, key=lambda c: (-c.score, c.id))


def jobs_hurt(finding: Finding, world: World) -> set[str]:
    """All of them, however sure."""
    return {candidate.id for candidate in jobs(finding, world)}


def _jobs(finding: Finding, world: World) -> dict[str, tuple[float, str]]:
    s, c = finding.subject, finding.cluster
    if s.job is not None:
        return {s.job: (1.0, "it is the job itself")} if world.is_running(c, s.job) else {}
    if s.kind == "gpu":
        uuid = finding_gpu(finding, world)
        return dict.fromkeys(world.jobs_on_gpu(c, uuid), (1.0, "holds the GPU")) if uuid else {}
    if s.kind == "node":
        return dict.fromkeys(world.jobs_on_node(c, s.id), (1.0, "has ranks on the node"))
    if s.kind == "rack":
        nodes = world.states.nodes_in(c, s.id)
        return {job: (1.0, "has ranks in the rack") for node in nodes for job in world.jobs_on_node(c, node)}
    if s.kind == "device" and s.node is not None:
        return dict.fromkeys(world.jobs_on_node(c, s.node), (1.0, "has ranks on the node that it is part of"))
    if s.kind == "device":
        below = dict.fromkeys(world.jobs_below(c, s.id), (1.0, "has ranks below the switch"))
        return below or _crossing_device(c, s.id, world)
    if s.kind == "port" and s.device is not None and s.port is not None:
        return _on_cable(c, s.device, s.port, world)
    return {}


def _on_cable(c: str, device: str, port: str, world: World) -> dict[str, tuple[float, str]]:
    """From whichever end the cable is known."""
    for end in sorted(world.cables.ends(c, device, port), key=lambda e: (e != f"{device}/{port}", e)):
        own, _, name = end.partition("/")
        link = world.link(c, own, name)
        if link is None:
            continue
        found = world.jobs_on_port(c, own, name)
        if link.far_kind != "switch":
            return dict.fromkeys(found, (1.0, "holds the GPU or host behind the cable"))
        rails = world.cables.rails(c, own) | world.cables.rails(c, link.far_device)
        if not rails:
            return dict.fromkeys(found, (TREE, "has ranks on both sides of the cable, which is one of many ways"))
        paths = max(1, world.cables.uplinks(c, own), world.cables.uplinks(c, link.far_device))
        rail = ", ".join(map(str, sorted(rails)))
        return dict.fromkeys(found, (RAIL / paths, f"crosses rail {rail} by one of {paths} equal paths"))
    return dict.fromkeys(world.jobs_on_port(c, device, port), (1.0, "runs on the host of the NIC"))


def _crossing_device(c: str, device: str, world: World) -> dict[str, tuple[float, str]]:
    """Of a switch without hosts: jobs that cross one of its cables."""
    found: dict[str, tuple[float, str]] = {}
    for end in world.cables.cables_at(c, device):
        for job in world.jobs_on_port(c, *end.partition("/")[::2]):
            found[job] = (TREE, f"crosses {device} or one of its peers")
    return found
