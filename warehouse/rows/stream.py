"""`Finding`, `Incident` and `NodeHealth` into their tables: a row an edge."""

from collections.abc import Sequence
from typing import Any

from streams.contract import Candidate, Evidence, Finding, Incident, NodeHealth, Order, Subject, finding_key
from warehouse.rows.arrow import Tables, from_rows, plain_rows

SUBJECT = ("node", "job", "rank", "device", "port", "gpu_uuid", "gpu_index", "pci", "priority")
FINDING = (
    *("cluster", "finding", "detector", "state", "ts", "episode_at", "severity", "cause"),
    *("subject_kind", "subject", *SUBJECT),
    *("value", "limit_value", "unit", "summary", "action", "jobs", "evidence"),
    *("confidence", "slowdown", "gpu_hours_lost_per_hour", "candidates", "shadow"),
)
INCIDENT = (
    *("cluster", "incident", "state", "ts", "severity", "cause", "cause_finding", "detector"),
    *("subject_kind", "subject", *SUBJECT),
    *("symptoms", "jobs", "gpus", "gpu_hours_lost_per_hour", "opened_at", "cleared_at"),
    *("summary", "action", "runbook", "evidence"),
    *("candidates", "confidence", "owner", "acked_by", "acked_at", "muted_until", "muted_by", "planned"),
    *("place", "rack", "folded_into"),
)
ORDER = {
    "cluster": "cluster",
    "order_id": "id",
    "ts": "ts_us",
    "kind": "kind",
    "incident": "incident",
    "cause": "cause",
    "parts": "parts",
    "from_at": "from_us",
    "until_at": "until_us",
    "ordered_by": "by",
    "why": "why",
}
HEALTH = (
    *("cluster", "node", "ts", "score", "schedulable", "state", "reasons", "version"),
    *("cordon", "state_since", "state_before", "why", "actor", "evidence"),
)


def finding_tables(messages: Sequence[Finding]) -> Tables:
    """A row an edge."""
    rows = [
        (
            *(m.cluster, finding_key(m), m.detector, m.state, m.ts_us, m.episode_us, m.severity, m.cause),
            *_subject(m.subject),
            *(m.value, m.limit, m.unit, m.summary, m.action, m.jobs, _evidence(m.evidence)),
            *(m.confidence, m.slowdown, m.gpu_hours_lost_per_hour, _candidates(m.candidates), m.shadow),
        )
        for m in messages
    ]
    return from_rows("finding_edges", FINDING, rows)


def incident_tables(messages: Sequence[Incident]) -> Tables:
    """A row an edge."""
    rows = [
        (
            *(m.cluster, m.id, m.state, m.ts_us, m.severity, m.cause_word, m.cause, m.detector),
            *_subject(m.subject),
            *(m.symptoms, m.jobs, m.gpus, m.gpu_hours_lost_per_hour, m.opened_us, m.cleared_us),
            *(m.summary, m.action, m.runbook, _evidence(m.evidence)),
            *(_candidates(m.candidates), m.confidence, m.owner),
            *(m.acked_by, m.acked_us, m.muted_until_us, m.muted_by, m.planned),
            *(m.place, m.rack, m.folded_into),
        )
        for m in messages
    ]
    return from_rows("incident_edges", INCIDENT, rows)


def order_tables(messages: Sequence[Order]) -> Tables:
    """A row an order."""
    return plain_rows("orders", ORDER, messages)


def health_tables(messages: Sequence[NodeHealth]) -> Tables:
    """A row a statement."""
    rows = [
        (
            *(m.cluster, m.node, m.ts_us, m.score, m.schedulable, m.state),
            [
                {
                    "cause": reason.cause,
                    "points": reason.points,
                    "part": reason.part,
                    "since": reason.since_us,
                    "finding": reason.finding,
                }
                for reason in m.reasons
            ],
            *(m.version, m.cordon, m.since_us or None, m.before, m.why or None, m.actor, m.evidence),
        )
        for m in messages
    ]
    return from_rows("node_scores", HEALTH, rows)


def _subject(subject: Subject) -> tuple[Any, ...]:
    return (subject.kind, subject.id, *(getattr(subject, name) for name in SUBJECT))


def _evidence(evidence: list[Evidence]) -> list[dict[str, Any]]:
    return [{"what": e.what, "value": e.value, "unit": e.unit, "ts": e.ts_us} for e in evidence]


def _candidates(candidates: list[Candidate]) -> list[dict[str, Any]]:
    return [{"kind": c.kind, "id": c.id, "score": c.score, "why": c.why} for c in candidates]
