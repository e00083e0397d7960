"""Where the messages about one job come from: Kafka, the warehouse, or files."""

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from collectors.contract.errors import UserError
from collectors.contract.fabric import Link, PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.job import JobEvent
from collectors.contract.kafka import KafkaClient
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.node import NodeState
from collectors.contract.topic import Topic
from collectors.contract.topics import (
    FABRIC_LINKS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    JOB_STEPS,
    KERNEL_EVENTS,
    NCCL_WINDOWS,
    NODE_STATES,
)
from streams.contract import FINDINGS, INCIDENTS

Pair = tuple[Topic[Any], Message]
OF_JOB = (JOB_PLACEMENTS, JOB_EVENTS, JOB_STEPS, NCCL_WINDOWS)
OF_PARTS = (GPU_SCRAPES, KERNEL_EVENTS, FABRIC_SCRAPES)
WHOLE = (JOB_PLACEMENTS, FABRIC_LINKS, NODE_STATES)


def from_files(names: Iterable[str], job: str) -> list[Pair]:
    """Envelopes as `lockstep replay` takes them. Raises `UserError` for a job that no file names."""
    from streams.replay import Recording

    with ExitStack() as stack:
        files = []
        for name in names:
            try:
                files.append((name, stack.enter_context(Path(name).open("rb"))))
            except OSError as why:
                raise UserError(f"{name}: {why.strerror}; give files of envelopes") from why
        pairs = list(Recording(files).messages())  # type: ignore[arg-type]
    _must_know(job, (m for _, m in pairs), "these files")
    return pairs


def from_kafka(
    client: KafkaClient, cluster: str, job: str, since_us: int, progress: Callable[[int], None]
) -> list[Pair]:
    """The job's messages since then, and those of its nodes and of the devices on its cables."""
    from infra.kafka.past import read

    names: set[str] = set()

    def of_job(topic: Topic[Any], message: Message) -> bool:
        if message.cluster != cluster:
            return False
        name = getattr(message, "job", None)
        if topic in OF_JOB and name is not None:
            names.add(name)
        return topic not in OF_JOB or name == job

    since = {topic.name: None if topic in WHOLE else since_us for topic in (*OF_JOB, *WHOLE, FINDINGS, INCIDENTS)}
    pairs = read(client, dict(since), (*OF_JOB[1:], *WHOLE, FINDINGS, INCIDENTS), of_job, progress)
    _must_be(job, names, "Kafka")
    here = nodes_of(m for _, m in pairs)
    devices = _devices(here, (m for _, m in pairs))

    def of_parts(topic: Topic[Any], message: Message) -> bool:
        return message.cluster == cluster and _concerns(message, here, devices)

    more = read(client, {topic.name: since_us for topic in OF_PARTS}, OF_PARTS, of_parts, progress)
    return sorted(pairs + more, key=lambda pair: pair[1].ts_us)


def from_warehouse(connection: Any, cluster: str, job: str, start_us: int, end_us: int) -> list[Pair]:
    """The same from what was loaded."""
    from warehouse.past.messages import messages

    pairs = [pair for pair in messages(connection, start_us, end_us) if pair[1].cluster == cluster]
    _must_know(job, (m for _, m in pairs), "the warehouse in that time")
    mine = [m for topic, m in pairs if topic in OF_JOB and getattr(m, "job", None) == job]
    here = nodes_of(mine)
    devices = _devices(here, (m for _, m in pairs))
    return [
        (topic, message)
        for topic, message in pairs
        if (getattr(message, "job", None) == job if topic in OF_JOB else _concerns(message, here, devices))
    ]


def nodes_of(messages: Iterable[Message]) -> set[str]:
    """Nodes that messages of a job name."""
    out: set[str] = set()
    for message in messages:
        if isinstance(message, JobEvent):
            out |= {place.node for place in message.placement}
        elif type(message).__name__ in ("StepReport", "CollectiveWindow"):
            out.add(message.node)  # type: ignore[attr-defined]
    return out


def _devices(nodes: set[str], messages: Iterable[Message]) -> set[str]:
    """Devices at either end of the cables of those nodes."""
    out: set[str] = set()
    for message in messages:
        if isinstance(message, Link) and (message.node in nodes or message.device in nodes):
            out |= {message.device, message.far_device}
    return out


def _concerns(message: Message, nodes: set[str], devices: set[str]) -> bool:
    if isinstance(message, GpuScrape | KernelEvent | NodeState):
        return message.node in nodes
    if isinstance(message, PortScrape):
        return message.device in devices or message.node in nodes
    return isinstance(message, Link)


def _must_know(job: str, messages: Iterable[Message], where: str) -> None:
    _must_be(job, set(_names(messages)), where)


def _names(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        name = getattr(message, "job", None)
        if isinstance(name, str):
            yield name


def _must_be(job: str, names: set[str], where: str) -> None:
    if job in names:
        return
    near = difflib.get_close_matches(job, names, 3) or sorted(names)[:8]
    known = f"; there is {', '.join(near)}" if near else "; no job is known there"
    raise UserError(f"no job {job!r} in {where}{known}")
