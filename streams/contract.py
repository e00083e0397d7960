"""What the stream jobs promise: findings, incidents, node health, and their topics."""

from typing import Any, Literal

from msgspec import Struct, field

from collectors.contract.message import Message, scoped
from collectors.contract.topic import DAY_MS, Topic

Severity = Literal["critical", "warning", "info"]
SubjectKind = Literal["gpu", "node", "rank", "job", "port", "device", "collector"]
HealthState = Literal["healthy", "suspect", "cordoned", "unknown"]


class Subject(Struct, frozen=True, kw_only=True):
    """The part that a finding is about. `id` is unique within its cluster and kind.

    gpu: the UUID (`node/pci` if unknown); node: its name; rank: `job/rank`; job: its name;
    port: `device/port`; device: its name; collector: its name.
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
    state: HealthState
    reasons: list[HealthReason] = field(default_factory=list)
    version: int = 1
    """Of the weights behind the score."""


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

STREAM_TOPICS: tuple[Topic[Any], ...] = (FINDINGS, INCIDENTS, NODE_HEALTH)
