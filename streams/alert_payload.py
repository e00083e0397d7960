"""An alert as Alertmanager takes it: labels, annotations, times. Also what every other receiver shows of it."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from streams.alert_labels import Links, dedup_key
from streams.alerts import Alert, AlertLimits
from streams.contract import Evidence, Incident
from streams.standing import standing_words

T = TypeVar("T")
MOST_CHARACTERS = 2000
"""Of one fact, so that no page grows without bound; ours."""


def payload(alert: Alert, limits: AlertLimits, now_us: int, links: Links, symptoms: int = 0) -> dict[str, Any]:
    """One element of the array that Alertmanager's `POST /api/v2/alerts` takes."""
    ends_us = alert.ended_us if alert.ended_us is not None else now_us + limits.ends_after_us
    return {
        "labels": alert.labels,
        "annotations": annotations(alert.incident, links, symptoms),
        "startsAt": starts_at(alert),
        "endsAt": rfc3339(ends_us),
        **({"generatorURL": graph} if (graph := links.graph(alert.incident)) else {}),
    }


def starts_at(alert: Alert) -> str:
    """Never after its end."""
    return rfc3339(alert.started_us if alert.ended_us is None else min(alert.started_us, alert.ended_us))


def annotations(i: Incident, links: Links, symptoms: int) -> dict[str, str]:
    """All that a person needs, as strings; what is not known is left out."""
    said = {
        "summary": i.summary,
        "action": i.action,
        "place": i.place or "",
        "jobs": listed(i.jobs, 20),
        "gpu_hours_lost_per_hour": "" if i.gpu_hours_lost_per_hour is None else f"{i.gpu_hours_lost_per_hour:g}",
        "candidates": "\n".join(f"{c.kind} {c.id} ({c.score:.0%}): {c.why}" for c in i.candidates[:10]),
        "confidence": i.confidence or "",
        "evidence": "\n".join(map(fact, i.evidence[:10])),
        "cause": i.cause,
        "cause_word": i.cause_word,
        "owner": i.owner,
        "symptoms": str(symptoms),
        "gpus": listed(i.gpus, 16),
        "first_seen": rfc3339(i.opened_us),
        "last_changed": rfc3339(i.ts_us),
        "standing": standing_words(i),
        "runbook_url": links.runbook(i),
        "graph_url": links.graph(i),
        "dedup_key": dedup_key(i),
    }
    return {k: cut(v, 10 * MOST_CHARACTERS) for k, v in said.items() if v != ""}


def fact(row: Evidence) -> str:
    """One fact with its number and, where it is known, its time."""
    number = "" if row.value is None else f": {row.value:g} {_unit(row)}".rstrip()
    at = "" if row.ts_us is None else f" at {datetime.fromtimestamp(row.ts_us / 1e6, UTC):%H:%M:%S}"
    return cut(f"{row.what}{number}{at}", MOST_CHARACTERS)


def _unit(row: Evidence) -> str:
    """`1 line`, `2 lines`; a short one is a symbol."""
    unit = row.unit or ""
    return unit[:-1] if row.value == 1 and len(unit) > 3 and unit.endswith("s") else unit


def listed(names: Sequence[T], most: int, word: Callable[[T], str] = str) -> str:
    """The first so many, and how many more there are."""
    shown = ", ".join(map(word, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def cut(text: str, most: int) -> str:
    """At most so many characters; that something is missing shows."""
    return text if len(text) <= most else text[: most - 1] + "…"


def rfc3339(us: int) -> str:
    """UTC with microseconds."""
    return datetime.fromtimestamp(us / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
