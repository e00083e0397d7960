"""The topics that collectors write."""

from typing import Any

from collectors.contract.beat import Beat, Rejected
from collectors.contract.fabric import Link, PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.job import CollectiveWindow, JobEvent, StepReport
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import scoped
from collectors.contract.node import NodeState
from collectors.contract.topic import DAY_MS, Topic

LARGE_BYTES = 8 << 20
"""For a whole placement: some 200 bytes a rank before compression."""

GPU_SCRAPES = Topic(name="gpu.scrapes.v1", type=GpuScrape, key=lambda m: scoped(m.cluster, m.node))
KERNEL_EVENTS = Topic(
    name="kernel.events.v1",
    type=KernelEvent,
    key=lambda m: scoped(m.cluster, m.node),
    retention_ms=14 * DAY_MS,
)
NCCL_WINDOWS = Topic(name="nccl.windows.v1", type=CollectiveWindow, key=lambda m: scoped(m.cluster, m.job))
JOB_STEPS = Topic(name="job.steps.v1", type=StepReport, key=lambda m: scoped(m.cluster, m.job))
JOB_EVENTS = Topic(
    name="job.events.v1",
    type=JobEvent,
    key=lambda m: scoped(m.cluster, m.job),
    retention_ms=14 * DAY_MS,
    max_message_bytes=LARGE_BYTES,
)
JOB_PLACEMENTS = Topic(
    name="job.placements.v1",
    type=JobEvent,
    # With a scheduler as its source: what it gave away must not replace the job's own ranks in the compacted log.
    key=lambda m: scoped(m.cluster, m.job, *([m.source] if m.source else [])),
    partitions=1,
    compacted=True,
    max_message_bytes=LARGE_BYTES,
)
FABRIC_SCRAPES = Topic(name="fabric.scrapes.v1", type=PortScrape, key=lambda m: scoped(m.cluster, m.device))
FABRIC_LINKS = Topic(
    name="fabric.links.v1",
    type=Link,
    # With its source: what LLDP sees must not replace what the file says in the compacted log.
    key=lambda m: scoped(m.cluster, m.device, m.port, m.source),
    partitions=1,
    compacted=True,
)
NODE_STATES = Topic(
    name="node.states.v1",
    type=NodeState,
    # With its source: a scheduler's word must not replace another's in the compacted log.
    key=lambda m: scoped(m.cluster, m.node, m.source),
    partitions=1,
    compacted=True,
)
COLLECTOR_BEATS = Topic(name="collector.beats.v1", type=Beat, key=lambda m: scoped(m.cluster, m.collector))
REJECTED = Topic(name="rejected.v1", type=Rejected, key=lambda m: m.source, partitions=1, retention_ms=14 * DAY_MS)

COLLECTOR_TOPICS: tuple[Topic[Any], ...] = (
    GPU_SCRAPES,
    KERNEL_EVENTS,
    NCCL_WINDOWS,
    JOB_STEPS,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    FABRIC_SCRAPES,
    FABRIC_LINKS,
    NODE_STATES,
    COLLECTOR_BEATS,
    REJECTED,
)
