"""What the stream jobs promise: findings, incidents, node health, and their topics."""

from typing import Any, Literal

from msgspec import Struct, field

from collectors.contract.message import Message, scoped
from collectors.contract.topic import DAY_MS, Topic

Severity = Literal["critical", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
SubjectKind = Literal["gpu", "node", "rank", "job", "port", "device", "collector", "rack", "comm", "pool"]
HealthState = Literal[
    "healthy",
    "suspect",
    "cordoned",
    "draining",
    "in_repair",
    "validating",
    "probation",
    "retired_candidate",
    "unknown",
]
HealthActor = Literal["lockstep", "scheduler", "person"]
OrderKind = Literal["ack", "mute", "unmute", "maintenance"]


class Subject(Struct, frozen=True, kw_only=True):
    """The part that a finding is about. `id` is unique within its cluster and kind.

    gpu: the UUID (`node/pci` if unknown); node: its name; rank: `job/rank`; job: its name;
    port: `device/port`; device: its name; collector: its name; rack: its name; comm: `job/communicator`;
    pool: nodes that stand in for each other, by the name of their cluster.
    """

    kind: SubjectKind
    id: str
    node: str | None = None
    job: str | None = None
    rank: int | None = None
    port: str | None = None
    device: str | None = None
    gpu_uuid: str | None = None
    gpu_index: int | None = None
    pci: str | None = None
    priority: int | None = None


class Evidence(Struct, frozen=True, kw_only=True):
    """One fact behind a finding, in words a person on call can use, with its number."""

    what: str
    value: float | None = None
    unit: str | None = None
    ts_us: int | None = None


class Candidate(Struct, frozen=True, kw_only=True):
    """One of several parts (or jobs) that may be meant, where the evidence does not single one out."""

    kind: SubjectKind
    id: str
    score: float
    """0 to 1: how much of the evidence speaks for it."""
    why: str


class Finding(Message, frozen=True, kw_only=True):
    """An edge in one episode of one fault. `ts_us` is the event time of the edge.

    Natural key: (cluster, detector, subject, episode start). The same edge twice is the same finding.
    """

    detector: str
    state: Literal["opened", "updated", "cleared"]
    subject: Subject
    episode_us: int
    severity: Severity
    cause: str
    """Stable word for what is wrong: `thermal_throttle`, `xid_79`, `lossless_drop`, ..."""
    value: float | None = None
    limit: float | None = None
    unit: str | None = None
    summary: str
    evidence: list[Evidence] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    action: str | None = None
    confidence: Confidence | None = None
    """How sure the cause is; None: as sure as the detector ever is."""
    slowdown: float | None = None
    """S of the whole job: step time over what it would be without this fault; an estimate."""
    gpu_hours_lost_per_hour: float | None = None
    """World size x (1 - 1/S)."""
    candidates: list[Candidate] = field(default_factory=list)
    """Parts that may be meant, likeliest first; empty: it is the subject."""
    shadow: bool = False
    """Judged and stored, never told: of a detector that is being tried out."""


def finding_key(finding: Finding) -> str:
    """`detector|cluster/kind/id|episode_us`: the name of one episode in incidents and in the warehouse."""
    return f"{finding.detector}|{subject_key(finding)}|{finding.episode_us}"


def subject_key(finding: Finding) -> str:
    """`cluster/kind/id`, the Kafka key of a finding."""
    return scoped(finding.cluster, finding.subject.kind, finding.subject.id)


class Incident(Message, frozen=True, kw_only=True):
    """One cause, its symptoms and what they cost. One incident, one page."""

    id: str
    state: Literal["opened", "updated", "cleared"]
    severity: Severity
    cause: str
    """Finding key of the cause."""
    cause_word: str
    """`Finding.cause` of the cause."""
    detector: str
    subject: Subject
    symptoms: list[str] = field(default_factory=list)
    """Finding keys of what the cause explains."""
    jobs: list[str] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    """UUIDs of the GPUs at fault or held up by it at the fault's own place."""
    gpu_hours_lost_per_hour: float | None = None
    """World size x (1 - 1/slowdown), summed over the jobs; an estimate."""
    opened_us: int
    cleared_us: int | None = None
    summary: str
    action: str
    runbook: str
    evidence: list[Evidence] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    """Jobs that may be hurt and parts that may be meant, likeliest first, where that is not sure."""
    confidence: Confidence | None = None
    owner: str = "fleet"
    """Who acts: `fleet`, `network`, `telemetry` or `job` (`streams/causes.py`)."""
    acked_by: str | None = None
    acked_us: int | None = None
    muted_until_us: int | None = None
    """Nobody is told until then. Loss is muted by its id or cause word only, never by its place."""
    muted_by: str | None = None
    planned: str | None = None
    """The planned work that explains it; such an incident is not told."""
    place: str | None = None
    """Where a person finds the part: node, slot, PCI address, rack, chassis; of a port both ends of its cable."""
    rack: str | None = None
    """Where its node stands, or itself."""
    folded_into: str | None = None
    """The incident that turned out to be its cause: it ends, and is not over."""


class Order(Message, frozen=True, kw_only=True):
    """What a person said: seen it, be quiet about it, we are working there. Kept in Kafka, the last of an id is true.

    `ts_us`: when it was said. `ack`: one incident. `mute`: an incident, a cause word or a part until `until_us`.
    `unmute`: ends the order of the same id. `maintenance`: planned work on nodes, devices or racks.
    """

    id: str
    kind: OrderKind
    incident: str | None = None
    cause: str | None = None
    parts: list[str] = field(default_factory=list)
    """`kind:id`, as `node:node-07`, `rack:r2`, `device:leaf-3`, `port:leaf-3/Ethernet8`; empty: any part."""
    from_us: int | None = None
    until_us: int | None = None
    by: str
    why: str = ""


class GpuPast(Struct, frozen=True, kw_only=True):
    """What the warehouse knows of one GPU's memory from before Kafka's retention."""

    uuid: str
    days: dict[int, float] = field(default_factory=dict)
    """Days since 1970 (UTC) -> corrected errors."""
    events: dict[int, int] = field(default_factory=dict)
    """Days since 1970 (UTC) -> events: runs of growth split by an hour of quiet that began on that day."""
    correctable_remaps: dict[int, float] = field(default_factory=dict)
    """Days since 1970 (UTC) -> rows remapped for corrected errors, as they stood at the day's end (DCGM 394)."""
    seen_days: int = 0
    """GPU-days behind it."""


class NodePast(Message, frozen=True, kw_only=True):
    """The past of all GPUs of a node, and the fleet's rates to compare with. `ts_us`: up to when it goes."""

    node: str
    gpus: list[GpuPast] = field(default_factory=list)
    fleet_gpu_days: float = 0.0
    fleet_events: float = 0.0
    """Corrected-error events of the whole fleet in those GPU-days."""
    fleet_event_days: float = 0.0
    """GPU-days with at least one event."""


class HealthReason(Struct, frozen=True, kw_only=True):
    """Why points were taken off."""

    cause: str
    points: float
    part: str
    since_us: int
    finding: str


class NodeHealth(Message, frozen=True, kw_only=True):
    """A node's score, 0 to 100, the minimum over its parts, and whether a scheduler should place work on it."""

    node: str
    score: float
    schedulable: bool
    """Should new work go there? False as well where a scheduler has closed it, or nobody knows how it is."""
    state: HealthState
    reasons: list[HealthReason] = field(default_factory=list)
    version: int = 1
    """Of the weights behind the score."""
    cordon: bool = False
    """Evidence of ours says: take it out, and it is in. It never echoes what a scheduler did: scripts may act on it."""
    since_us: int = 0
    """When the node came into this state."""
    before: HealthState | None = None
    """The state that it came from."""
    why: str = ""
    """Reason code of that move: `hard_fault`, `two_kinds`, `score`, `drained`, `returned`, `clean`, `silent`, ..."""
    actor: HealthActor = "lockstep"
    """Who moved it."""
    evidence: list[str] = field(default_factory=list)
    """Finding keys behind the move."""


FINDINGS = Topic(name="findings.v1", type=Finding, key=subject_key, partitions=1, retention_ms=30 * DAY_MS)
INCIDENTS = Topic(
    name="incidents.v1",
    type=Incident,
    key=lambda m: scoped(m.cluster, m.id),
    partitions=1,
    retention_ms=30 * DAY_MS,
)
NODE_HEALTH = Topic(
    name="node.health.v1",
    type=NodeHealth,
    key=lambda m: scoped(m.cluster, m.node),
    partitions=1,
    compacted=True,
)
ORDERS = Topic(
    name="incident.orders.v1",
    type=Order,
    key=lambda m: scoped(m.cluster, m.id),
    partitions=1,
    compacted=True,
)
NODE_PASTS = Topic(
    name="node.pasts.v1",
    type=NodePast,
    key=lambda m: scoped(m.cluster, m.node),
    partitions=1,
    compacted=True,
)

STREAM_TOPICS: tuple[Topic[Any], ...] = (FINDINGS, INCIDENTS, NODE_HEALTH, ORDERS, NODE_PASTS)
