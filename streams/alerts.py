"""Incidents as alerts: what is open, what it is called, and who was told what of it. No clock, no network.

The labels are an alert's identity: they are fixed when the incident is first told and outlive a new cause. Only a
graver severity makes a second alert of one incident, named by what is known then, and the first one ends: a ticket
became a page.
Who is muted or at planned work is not told; what was told before ends there, and begins again with the mute's end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct, structs

from streams.alert_labels import grade, labels_of
from streams.contract import Incident, Severity

S = 1_000_000
_GRAVITY: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertLimits:
    """How Alertmanager wants to be told (its `docs/alerts_api.md`): again while open, resolved up to 5 minutes."""

    resend_us: int = 60 * S
    ends_after_us: int = 300 * S
    """Four missed re-sends before an alert would end by itself."""
    resolved_for_us: int = 300 * S
    keep_us: int = 24 * 3600 * S
    """An end that somebody was not told, for nobody answers there, is kept for so long; ours."""
    again_us: int = 4 * 3600 * S
    """A page that nobody has seen is said again in a chat; Alertmanager's own `repeat_interval`."""
    most_incidents: int = 5000
    """Kept at most; beyond it what is over goes first, then the oldest tickets; ours."""
    most_listed: int = 50
    """Jobs, GPUs, symptoms, facts and candidates kept of each; ours."""


class Alert(Struct):
    """One alert: one label set of one incident."""

    labels: dict[str, str]
    incident: Incident
    started_us: int
    ended_us: int | None = None


class Told(Struct, frozen=True, kw_only=True):
    """What one receiver was told last of an incident, and when."""

    event: str
    severity: Severity
    cause_word: str
    part: str
    action: str
    acked_by: str | None
    ts_us: int
    """Of the incident's edge that was told."""
    at_us: int
    is_unsure: bool = False
    """Quiet or loud was tried since, and it did not say that it took it: it may have."""


class AlertRow(Struct):
    """What one row of the Table holds: the alerts of one incident, the last is the present one, and who knows."""

    alerts: list[Alert]
    incident: Incident
    symptoms: int = 0
    """How many there are; the incident lists the first only."""
    told: dict[str, Told] = {}
    """By receiver."""


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
        if incident.severity == "info" or (row is None and incident.state == "cleared"):
            return None
        if row is not None and (is_over(row) or incident.ts_us < row.incident.ts_us):
            return None
        count, incident = len(incident.symptoms), _trimmed(incident, self.limits.most_listed)
        if row is None:
            row = self.rows[key] = AlertRow([], incident)
        row.incident, row.symptoms = incident, count
        self.changed.add(key)
        self._bound()
        return _moved(row)

    def note(self, key: str, row: AlertRow, receiver: str, told: Told) -> None:
        """Remember what a receiver was told; not of a row that another worker has by now."""
        if self.rows.get(key) is row:
            row.told[receiver] = told
            self.changed.add(key)

    def alerts(self) -> list[Alert]:
        """All that is to be sent now and then."""
        return [a for row in self.rows.values() for a in row.alerts]

    def forget(self, now_us: int, is_done: Callable[[AlertRow], bool]) -> None:
        """Drop incidents that ended long enough ago. `is_done`: everybody heard all there is to say of it."""
        for key, row in list(self.rows.items()):
            over_for_us = now_us - row.incident.ts_us if is_over(row) else 0
            patience_us = self.limits.resolved_for_us if is_done(row) else self.limits.keep_us
            if over_for_us > patience_us:
                self._drop(key)

    def take_changes(self) -> dict[str, bytes | None]:
        """Rows to write since the last call; None: delete."""
        rows = {k: _encoder.encode(self.rows[k]) if k in self.rows else None for k in sorted(self.changed)}
        self.changed.clear()
        return rows

    def restore(self, rows: dict[str, bytes]) -> None:
        """Go on from kept rows. Raises `msgspec.MsgspecError`."""
        self.rows = {key: _decoder.decode(raw) for key, raw in rows.items()}

    def close(self) -> None:
        """Another worker has them now; its rows are not this one's to change."""
        self.rows.clear()
        self.changed.clear()

    def _bound(self) -> None:
        most = self.limits.most_incidents
        if len(self.rows) <= most:
            return
        for key in sorted(self.rows, key=lambda k: _worth(self.rows[k]))[: max(1, most // 10)]:
            self._drop(key)

    def _drop(self, key: str) -> None:
        del self.rows[key]
        self.changed.add(key)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AlertRow)


def is_quiet(incident: Incident) -> bool:
    """Nobody is to be told of it now: muted, or planned work."""
    return incident.muted_until_us is not None or incident.planned is not None


def is_over(row: AlertRow) -> bool:
    """Its end was told by the correlator."""
    return row.incident.state == "cleared"


def is_graver(severity: Severity, than: Severity) -> bool:
    """Of two severities."""
    return _GRAVITY[severity] > _GRAVITY[than]


def pages(alert: Alert) -> bool:
    """Critical pages, a warning is a ticket."""
    return alert.labels["page"] == "yes"


def _moved(row: AlertRow) -> Alert | None:
    """Bring the alerts of a row to where its incident stands."""
    incident = row.incident
    last = row.alerts[-1] if row.alerts and row.alerts[-1].ended_us is None else None
    if is_over(row) or is_quiet(incident):
        if last is not None:
            last.incident, last.ended_us = incident, incident.ts_us
        return last
    if last is not None and last.incident.severity == incident.severity:
        last.incident = incident
        return None
    if last is not None:
        last.ended_us = incident.ts_us
    labels = {**row.alerts[-1].labels, **grade(incident)} if row.alerts else labels_of(incident)
    if row.alerts and labels != row.alerts[-1].labels:
        labels = labels_of(incident)  # a new alert in any case: by what is known now
    started_us = incident.ts_us if row.alerts else incident.opened_us
    # One label set is one alert: what ended under the same labels is the same alert again.
    row.alerts = [a for a in row.alerts if a.labels != labels]
    row.alerts.append(Alert(labels, incident, started_us))
    return row.alerts[-1]


def _worth(row: AlertRow) -> tuple[bool, int, int]:
    return not is_over(row), _GRAVITY[row.incident.severity], row.incident.ts_us


def _trimmed(incident: Incident, most: int) -> Incident:
    """A row is written whole each time."""
    return structs.replace(
        incident,
        **{n: getattr(incident, n)[:most] for n in ("symptoms", "evidence", "candidates", "gpus")},
        jobs=incident.jobs[: 4 * most],
    )
