"""Which function makes the rows of which topic."""

from collections.abc import Sequence
from typing import Any, cast

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import (
    COLLECTOR_BEATS,
    COLLECTOR_TOPICS,
    FABRIC_LINKS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    JOB_STEPS,
    KERNEL_EVENTS,
    NCCL_WINDOWS,
    NODE_STATES,
    REJECTED,
)
from streams.contract import FINDINGS, INCIDENTS, NODE_HEALTH, NODE_PASTS, ORDERS, STREAM_TOPICS
from warehouse.rows import fabric, gpu, job, node, stream
from warehouse.rows.arrow import Build, Tables, check_times

LOADED: dict[str, Topic[Any]] = {
    topic.name: topic for topic in (*COLLECTOR_TOPICS, *STREAM_TOPICS) if topic is not NODE_PASTS
}
"""Every topic, by name, but the one that the warehouse itself writes."""

BUILDS: dict[str, Build] = {
    name: cast(Build, build)
    for name, build in {
        GPU_SCRAPES.name: gpu.gpu_tables,
        KERNEL_EVENTS.name: node.kernel_tables,
        NCCL_WINDOWS.name: job.collective_tables,
        JOB_STEPS.name: job.step_tables,
        JOB_EVENTS.name: job.event_tables,
        JOB_PLACEMENTS.name: job.placement_tables,
        FABRIC_SCRAPES.name: fabric.port_tables,
        FABRIC_LINKS.name: fabric.link_tables,
        NODE_STATES.name: node.state_tables,
        COLLECTOR_BEATS.name: node.beat_tables,
        REJECTED.name: node.rejected_tables,
        FINDINGS.name: stream.finding_tables,
        INCIDENTS.name: stream.incident_tables,
        NODE_HEALTH.name: stream.health_tables,
        ORDERS.name: stream.order_tables,
    }.items()
}


def rows_of(topic: str, messages: Sequence[Message]) -> Tables:
    """Rows of messages of one topic, by table. Raises what `BAD_ROWS` lists."""
    check_times([message.ts_us for message in messages])
    return BUILDS[topic](messages)


def samples_of(message: Message) -> int:
    """Single values that a message carries: a GPU's field, a port's counter, a rank's step; else 1."""
    columns = getattr(message, "columns", None)
    if columns is not None:
        named = getattr(message, "named", {})
        return sum(map(len, columns.values())) + sum(map(len, named.values()))
    ranks = getattr(message, "rank", None)
    return len(ranks) if isinstance(ranks, list) else 1
