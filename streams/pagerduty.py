"""Incidents straight to PagerDuty's Events API v2: trigger, acknowledge, resolve under one dedup key."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streams.alert_labels import Links, dedup_key
from streams.alert_news import Event
from streams.alert_payload import annotations, cut, rfc3339
from streams.contract import Incident
from streams.posting import Answer, Poster
from streams.receiver import News
from streams.standing import standing_words

MOST_SUMMARY = 1024
"""Characters; PagerDuty cuts there, as does Alertmanager (`notify/pagerduty/pagerduty.go`)."""
MOST_BYTES = 512_000
"""Of a whole event; a larger one is not taken (the same source)."""
_ACTIONS: dict[Event, str] = {
    "opened": "trigger",
    "graver": "trigger",
    "cause": "trigger",
    "loud": "trigger",
    "acked": "acknowledge",
    "quiet": "resolve",
    "ended": "resolve",
    "opened and ended": "resolve",
}
"""A trigger of an open one adds to its log and wakes nobody again. What is muted is resolved there, for it cannot wait
in silence; the event says that it is not over (a resolve may carry a payload, as Alertmanager's does). An incident that
is over before PagerDuty answered wakes nobody; a resolve of what it does not know is ignored there."""


@dataclass(slots=True)
class PagerDuty:
    """One service, by its routing key. Tickets go there only when they are asked for."""

    poster: Poster
    routing_key: str
    links: Links
    tickets: bool = False
    name: str = "pagerduty"
    hears: frozenset[Event] = frozenset(_ACTIONS)
    most_at_once: int = 1
    pause_s: float = 0.0
    calm_s: float = 0.0

    async def say(self, items: Sequence[News]) -> Answer:
        """One event."""
        (item,) = items
        answer = await self.poster.post(event(item, self.routing_key, self.links))
        # A key that it does not know is no fault of the event: the next one would fare no better.
        if answer.refused and "routing" in answer.words.lower():
            return Answer(False, answer.words.replace(self.routing_key, "(key)"))
        return Answer(answer.taken, answer.words.replace(self.routing_key, "(key)"), answer.refused, answer.after_s)


def event(item: News, routing_key: str, links: Links) -> dict[str, Any]:
    """The body of `POST /v2/enqueue`."""
    i = item.incident
    head = {"routing_key": routing_key, "event_action": _ACTIONS[item.event], "dedup_key": dedup_key(i)}
    if head["event_action"] != "trigger" and item.event != "quiet":
        return head
    summary = f"not over, {standing_words(i)}: {i.summary}" if item.event == "quiet" else i.summary
    details = {k: v for k, v in annotations(i, links, item.symptoms).items() if k != "summary"}
    body: dict[str, Any] = {
        **head,
        "payload": {
            "summary": cut(summary, MOST_SUMMARY),
            "source": i.subject.node or i.subject.device or i.subject.id,
            "severity": i.severity,
            "timestamp": rfc3339(i.opened_us),
            "component": f"{i.subject.kind} {i.subject.id}",
            "group": i.cluster,
            "class": i.cause_word,
            "custom_details": details,
        },
        "links": [{"href": href, "text": text} for text, href in _links(i, links)],
        "client": "Lockstep",
    }
    if len(json.dumps(body)) > MOST_BYTES:
        body["payload"]["custom_details"] = {"action": i.action, "dedup_key": dedup_key(i)}
    return body


def _links(i: Incident, links: Links) -> list[tuple[str, str]]:
    """Those that lead somewhere: a path within the repository does not."""
    found = [("Runbook", links.runbook(i)), ("Graph", links.graph(i))]
    return [(text, href) for text, href in found if href.startswith(("http://", "https://"))]
