"""A small fleet and the findings that tests tell about it."""

from msgspec import structs

from collectors.contract.fabric import Link
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement
from streams.contract import Finding, Subject
from streams.world import World

S = 1_000_000
T0 = 1_800_000_000 * S


def fleet() -> World:
    """Nodes n0..n3 with GPUs 0 and 1 each; job `train` on n0 and n1 (ranks 0-3); a leaf with a port a node."""
    world = World()
    for n in range(4):
        gpus = [Gpu(uuid=f"G{n}{i}", index=i, pci=f"0000:{i}a:00") for i in range(2)]
        world.learn(GpuScrape(node=f"n{n}", ts_us=T0, gpus=gpus))
        for i in range(2):
            world.learn(
                Link(
                    ts_us=T0,
                    device="leaf1",
                    port=f"Ethernet{2 * n + i}",
                    far_device=f"n{n}-nic{i}",
                    far_port="p0",
                    far_kind="nic",
                    node=f"n{n}",
                    gpu_uuids=[f"G{n}{i}"],
                )
            )
    placement = [Placement(rank=r, node=f"n{r // 2}", gpu_uuid=f"G{r // 2}{r % 2}") for r in range(4)]
    world.learn(JobEvent(ts_us=T0, job="train", kind="placed", placement=placement))
    return world


def found(detector: str, subject: Subject, at_s: float, cause: str, **more: object) -> Finding:
    """A finding opened `at_s` seconds after T0."""
    us = T0 + int(at_s * S)
    fields: dict[str, object] = {
        "severity": "warning",
        "state": "opened",
        "summary": f"{cause} on {subject.id}",
        "episode_us": us,
        "ts_us": us,
    }
    return Finding(**{**fields, "detector": detector, "subject": subject, "cause": cause, **more})  # type: ignore[arg-type]


def gpu(uuid: str) -> Subject:
    return Subject(kind="gpu", id=uuid, gpu_uuid=uuid, node=f"n{uuid[1]}")


def rank(r: int, job: str = "train") -> Subject:
    return Subject(kind="rank", id=f"{job}/{r}", job=job, rank=r)


def node(name: str) -> Subject:
    return Subject(kind="node", id=name, node=name)


def port(name: str) -> Subject:
    return Subject(kind="port", id=f"leaf1/{name}", device="leaf1", port=name)


def slow(r: int, at_s: float, value: float = 1.25) -> Finding:
    return found("straggler", rank(r), at_s, "gpu_slow", value=value, unit="x")


def hot(uuid: str, at_s: float, **more: object) -> Finding:
    return found("throttle", gpu(uuid), at_s, "thermal_throttle", **more)


def silent(subject: Subject, at_s: float) -> Finding:
    return found("silence", subject, at_s, f"{subject.kind}_silent", severity="critical")


def cleared(f: Finding, at_s: float) -> Finding:
    return structs.replace(f, state="cleared", ts_us=T0 + int(at_s * S))
