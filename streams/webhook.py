"""Incidents as documented JSON to any address (`docs/alerts.md`): every event, every update."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from streams.alert_labels import Links, dedup_key
from streams.alert_news import Event
from streams.alert_payload import MOST_CHARACTERS, cut, rfc3339
from streams.contract import Incident
from streams.posting import Answer, Poster
from streams.receiver import News

VERSION = 1


@dataclass(slots=True)
class Webhook:
    """One address. Pages and tickets."""

    poster: Poster
    links: Links
    name: str
    hears: frozenset[Event] = frozenset(get_args(Event)) - {"still"}
    tickets: bool = True
    most_at_once: int = 1
    pause_s: float = 0.0
    calm_s: float = 0.0

    async def say(self, items: Sequence[News]) -> Answer:
        """One event; the same again has the same `Idempotency-Key`."""
        (item,) = items
        body = message(item, self.links)
        return await self.poster.post(
            body, {"Idempotency-Key": f"{body['dedup_key']}/{item.event.replace(' ', '-')}/{item.incident.ts_us}"}
        )


def message(item: News, links: Links) -> dict[str, Any]:
    """The documented form. Fields are only ever added; what is not known is null."""
    i, s = item.incident, item.incident.subject
    return {
        "version": VERSION,
        "event": item.event.replace(" ", "_"),
        "dedup_key": dedup_key(i),
        "cluster": i.cluster,
        "incident": i.id,
        "state": "resolved" if i.state == "cleared" else "firing",
        "severity": i.severity,
        "page": i.severity == "critical",
        "cause": i.cause_word,
        "detector": i.detector,
        "owner": i.owner,
        "confidence": i.confidence,
        "summary": i.summary,
        "action": i.action,
        "runbook_url": links.runbook(i),
        "graph_url": links.graph(i) or None,
        "subject": {
            "kind": s.kind,
            "id": s.id,
            "node": s.node,
            "device": s.device,
            "port": s.port,
            "priority": s.priority,
            "job": s.job,
            "rank": s.rank,
            "gpu_uuid": s.gpu_uuid,
            "gpu_index": s.gpu_index,
            "pci": s.pci,
        },
        "place": i.place,
        "rack": i.rack,
        "jobs": i.jobs,
        "gpus": i.gpus,
        "gpu_hours_lost_per_hour": i.gpu_hours_lost_per_hour,
        "candidates": [{"kind": c.kind, "id": c.id, "score": c.score, "why": c.why} for c in i.candidates],
        "evidence": [
            {
                "what": cut(e.what, MOST_CHARACTERS),
                "value": e.value,
                "unit": e.unit,
                "at": None if e.ts_us is None else rfc3339(e.ts_us),
            }
            for e in i.evidence
        ],
        "symptoms": item.symptoms,
        "opened_at": rfc3339(i.opened_us),
        "changed_at": rfc3339(i.ts_us),
        "cleared_at": None if i.cleared_us is None else rfc3339(i.cleared_us),
        **_standing(i),
    }


def _standing(i: Incident) -> dict[str, str | None]:
    """What people said of it."""
    return {
        "acked_by": i.acked_by,
        "muted_until": None if i.muted_until_us is None else rfc3339(i.muted_until_us),
        "muted_by": i.muted_by,
        "planned": i.planned,
        "folded_into": i.folded_into,
    }
