"""Incidents as alerts: which page, under which labels, and how long they are sent again. No clock, no network.

The labels are an alert's identity: they are fixed when the incident opens and outlive a new cause. Only a
graver severity makes a second alert of one incident, and then the first one ends: a ticket became a page.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from streams.contract import Incident

S = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertLimits:
    """How Alertmanager wants to be told (its `docs/alerts_api.md`): again while open, resolved up to 5 minutes."""

    resend_us: int = 60 * S
    ends_after_us: int = 300 * S
    """Four missed re-sends before an alert would end by itself."""
    resolved_for_us: int = 300 * S
    keep_us: int = 24 * 3600 * S
    """An ended alert that was never delivered anywhere is kept for so long."""


class Alert(Struct):
    """One alert: one label set of one incident."""

    labels: dict[str, str]
    incident: Incident
    started_us: int
    ended_us: int | None = None


class AlertRow(Struct):
    """What one row of the Table holds: the alerts of one incident; the last is the present one."""

    alerts: list[Alert]


@dataclass(slots=True)
class AlertBook:
    """The alerts of all open and lately ended incidents, by `cluster/id`."""

    limits: AlertLimits = AlertLimits()
    rows: dict[str, AlertRow] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)

    def learn(self, incident: Incident) -> Alert | None:
        """Take one incident edge; the alert that opened or ended by it, None when only its words changed."""
        key = f"{incident.cluster}/{incident.id}"
        row = self.rows.get(key)
        if incident.severity == "info":
            return None
        if row is None:
            if incident.state == "cleared":
                return None
            alert = Alert(labels_of(incident), incident, incident.opened_us)
            self.rows[key] = AlertRow([alert])
            self.changed.add(key)
            return alert
        last = row.alerts[-1]
        if last.ended_us is not None or incident.ts_us < last.incident.ts_us:
            return None
        self.changed.add(key)
        if incident.state == "cleared":
            last.incident, last.ended_us = incident, incident.ts_us
            return last
        if incident.severity != last.incident.severity:
            last.ended_us = incident.ts_us
            graver = Alert({**last.labels, **_grade(incident)}, incident, incident.ts_us)
            row.alerts.append(graver)
            return graver
        last.incident = incident
        return None

    def alerts(self) -> list[Alert]:
        """All that is to be sent now and then."""
        return [a for row in self.rows.values() for a in row.alerts]

    def forget(self, now_us: int, delivered: bool) -> None:
        """Drop incidents that ended long enough ago; `delivered`: everybody heard of all of them."""
        patience = self.limits.resolved_for_us if delivered else self.limits.keep_us
        for key, row in list(self.rows.items()):
            ends = [a.ended_us for a in row.alerts]
            if None not in ends and now_us - max(e for e in ends if e is not None) > patience:
                del self.rows[key]
                self.changed.add(key)

    def take_changes(self) -> dict[str, bytes | None]:
        """Rows to write since the last call; None: delete."""
        rows = {k: _encoder.encode(self.rows[k]) if k in self.rows else None for k in sorted(self.changed)}
        self.changed.clear()
        return rows

    def restore(self, rows: dict[str, bytes]) -> None:
        """Go on from kept rows. Raises `msgspec.MsgspecError`."""
        self.rows = {key: _decoder.decode(raw) for key, raw in rows.items()}


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AlertRow)


def pages(alert: Alert) -> bool:
    """Critical pages, a warning is a ticket."""
    return alert.labels["page"] == "yes"


def labels_of(incident: Incident) -> dict[str, str]:
    """A stable label set, strings only; empty ones left out. No counts, times or job lists."""
    s = incident.subject
    labels = {
        "alertname": _camel(incident.cause_word),
        "cluster": incident.cluster,
        "incident": incident.id,
        "detector": incident.detector,
        "node": s.node or "",
        "device": s.device or "",
        "port": s.port or "",
        "priority": "" if s.priority is None else str(s.priority),
        "gpu_index": "" if s.gpu_index is None else str(s.gpu_index),
        **_grade(incident),
    }
    labels = {k: v for k, v in labels.items() if v != ""}
    labels.setdefault(s.kind, s.id)
    return labels


def payload(alert: Alert, limits: AlertLimits, now_us: int, runbooks: str = "") -> dict[str, Any]:
    """One element of the array that Alertmanager's `POST /api/v2/alerts` takes."""
    i = alert.incident
    ends_us = alert.ended_us if alert.ended_us is not None else now_us + limits.ends_after_us
    annotations = {
        "summary": i.summary,
        "action": i.action,
        "runbook_url": f"{runbooks.rstrip('/')}/{i.runbook}" if runbooks else i.runbook,
        "jobs": ", ".join(i.jobs[:20]) + (f" and {len(i.jobs) - 20} more" if len(i.jobs) > 20 else ""),
        "cause": i.cause,
        "cause_word": i.cause_word,
        "symptoms": str(len(i.symptoms)),
        "gpus": ", ".join(i.gpus[:16]),
        "gpu_hours_lost_per_hour": "" if i.gpu_hours_lost_per_hour is None else f"{i.gpu_hours_lost_per_hour:g}",
        "evidence": "\n".join(_fact(e.what, e.value, e.unit) for e in i.evidence[:10]),
    }
    return {
        "labels": alert.labels,
        "annotations": {k: v for k, v in annotations.items() if v != ""},
        "startsAt": rfc3339(min(alert.started_us, ends_us)),
        "endsAt": rfc3339(ends_us),
    }


def rfc3339(us: int) -> str:
    """UTC with microseconds."""
    return datetime.fromtimestamp(us / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _grade(incident: Incident) -> dict[str, str]:
    return {"severity": incident.severity, "page": "yes" if incident.severity == "critical" else "no"}


def _camel(word: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in word.split("_"))


def _fact(what: str, value: float | None, unit: str | None) -> str:
    return what if value is None else f"{what}: {value:g} {unit or ''}".rstrip()
