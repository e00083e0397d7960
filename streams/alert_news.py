"""What a receiver that is told in words has not heard yet of an incident. No clock, no network."""

from collections.abc import Iterator
from typing import Literal

from streams.alerts import AlertLimits, AlertRow, Told, is_graver, is_over, is_quiet
from streams.contract import Incident

Event = Literal[
    "opened", "graver", "cause", "action", "acked", "quiet", "loud", "still", "updated", "ended", "opened and ended"
]
"""`quiet`: muted or planned work, not over. `loud`: that ended, and the fault is still there. `still`: nobody has
said that they saw it. `updated`: other numbers or jobs. `opened and ended`: while nobody answered."""


def news(row: AlertRow, told: Told | None, now_us: int, limits: AlertLimits) -> Iterator[Event]:
    """What there is to say now, weightiest first; a receiver says the first of those that it says at all."""
    now = row.incident
    if told is None:
        # What was loud once may have got there, though the answer did not.
        if is_over(row):
            if row.alerts:
                yield "opened and ended"
        elif not is_quiet(now):
            yield "opened"
        elif row.alerts:
            yield "quiet"
    elif told.event in ("ended", "opened and ended"):
        return
    elif is_over(row):
        yield "ended"
    elif is_quiet(now):
        if told.event != "quiet" or told.is_unsure:
            yield "quiet"
    elif told.event == "quiet" or told.is_unsure:
        yield "loud"
    else:
        yield from _changes(now, told, now_us, limits)


def _changes(now: Incident, told: Told, now_us: int, limits: AlertLimits) -> Iterator[Event]:
    if is_graver(now.severity, told.severity):
        yield "graver"
    if (told.cause_word, told.part) != (now.cause_word, _part(now)):
        yield "cause"
    if told.action != now.action:
        yield "action"
    if now.acked_by is not None and told.acked_by is None:
        yield "acked"
    if now.severity == "critical" and now.acked_by is None and now_us - told.at_us >= limits.again_us:
        yield "still"
    if now.ts_us > told.ts_us:
        yield "updated"


def told_now(incident: Incident, event: Event, now_us: int, before: Told | None) -> Told:
    """What a receiver knows once it took this. A first word, also after a mute, says nothing of who has seen it: that
    comes after."""
    was_acked = before is not None and before.acked_by is not None and event != "loud"
    return Told(
        event=event,
        severity=incident.severity,
        cause_word=incident.cause_word,
        part=_part(incident),
        action=incident.action,
        acked_by=incident.acked_by if event == "acked" or was_acked else None,
        ts_us=incident.ts_us,
        at_us=now_us,
    )


def _part(incident: Incident) -> str:
    return f"{incident.subject.kind}:{incident.subject.id}"
