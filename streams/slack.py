"""Incidents into a chat by Slack's incoming webhook: a message when one opens, turns, is seen, and ends."""

from collections.abc import Sequence
from dataclasses import dataclass

from streams.alert_labels import Links
from streams.alert_news import Event
from streams.alert_payload import cut, fact
from streams.contract import Incident
from streams.incident_words import age_words, plural
from streams.posting import Answer, Poster
from streams.receiver import News
from streams.standing import standing_words

PAUSE_S = 1.0
"""One message a second and channel (docs.slack.dev, "Rate limits")."""
CALM_S = 30.0
"""As between two updates of an incident (`CorrelatorLimits.update_us`). Ours."""
MOST_AT_ONCE = 20
MOST_IN_FULL = 3
"""In one message; more are a line each. Ours."""
MOST_CHARACTERS = 3500
"""Of one message; Slack advises 4,000 and cuts at 40,000."""
_MARKS = {"critical": ":red_circle:", "warning": ":large_yellow_circle:", "info": ":white_circle:"}


@dataclass(slots=True)
class Slack:
    """One channel. Pages and tickets."""

    poster: Poster
    links: Links
    name: str = "slack"
    hears: frozenset[Event] = frozenset(
        {"opened", "graver", "cause", "action", "acked", "quiet", "loud", "still", "ended", "opened and ended"}
    )
    tickets: bool = True
    most_at_once: int = MOST_AT_ONCE
    pause_s: float = PAUSE_S
    calm_s: float = CALM_S

    async def say(self, items: Sequence[News]) -> Answer:
        """One message."""
        return await self.poster.post({"text": text(items, self.links)})


def text(items: Sequence[News], links: Links) -> str:
    """In full while they are few, else a line each."""
    if len(items) <= MOST_IN_FULL:
        room = MOST_CHARACTERS // len(items)
        return "\n\n".join(cut(_in_full(item, links), room) for item in items)
    room = MOST_CHARACTERS // (len(items) + 1)
    lines = [f"*{len(items)} incidents at once*"]
    return "\n".join([*lines, *(cut(f"{_said(item)}: {_safe(item.incident.summary)}", room) for item in items)])


def _in_full(item: News, links: Links) -> str:
    i = item.incident
    if item.event in ("acked", "quiet") or i.folded_into is not None:
        return f"{_said(item)}\n{_safe(i.summary)}"
    if item.event in ("ended", "opened and ended"):
        lasted = age_words((i.cleared_us if i.cleared_us is not None else i.ts_us) - i.opened_us)
        return f"{_head(item)} after {lasted}\n{_safe(i.summary)}"
    lines = [_head(item), _safe(i.summary), f"*Do:* {_safe(i.action)}"]
    possible = [c for c in i.candidates if c.kind != "job" and (c.kind, c.id) != (i.subject.kind, i.subject.id)]
    if possible:
        lines.append("*Maybe:* " + "; ".join(_safe(f"{c.kind} {c.id} ({c.score:.0%}): {c.why}") for c in possible[:3]))
    if i.confidence in ("medium", "low"):
        lines.append(f"*Confidence:* {i.confidence}")
    if i.evidence:
        lines.append("*Evidence:* " + "; ".join(_safe(fact(e)) for e in i.evidence[:3]))
    lines.append(" | ".join(_links(i, links)))
    return "\n".join(lines)


def _said(item: News) -> str:
    """Its head, with what people said of it where that is the news."""
    is_said = item.event in ("acked", "quiet") or item.incident.folded_into is not None
    return _head(item) + (f": {_safe(standing_words(item.incident))}" if is_said else "")


def _head(item: News) -> str:
    i = item.incident
    kind = "page" if i.severity == "critical" else "ticket"
    words = {
        "opened": f"New {kind}",
        "graver": "A ticket became a page",
        "cause": f"Another cause ({kind})",
        "action": f"Something else to do ({kind})",
        "acked": "Seen",
        "quiet": "Muted, not over" if i.muted_until_us is not None else "Planned work, not over",
        "loud": f"Quiet no longer, still there ({kind})",
        "still": f"Still there, nobody has seen it ({kind})",
        "ended": "Over",
        "opened and ended": "Came and went while no message got through",
    }[item.event]
    mark = ":white_check_mark:" if item.event in ("ended", "opened and ended") else _MARKS[i.severity]
    mark = ":no_bell:" if item.event == "quiet" else mark
    if i.folded_into is not None:
        mark, words = ":arrow_right:", "No incident of its own any more"
    return f"{mark} *{words}: {i.cause_word} on {_safe(_part(i))}*"


def _part(i: Incident) -> str:
    """By the name that a person knows."""
    s = i.subject
    if s.kind == "gpu" and s.node is not None and s.gpu_index is not None:
        return f"GPU {s.gpu_index} of {s.node}"
    if s.kind == "rank" and s.rank is not None and s.job is not None:
        return f"rank {s.rank} of {s.job}"
    return f"{s.kind} {s.id}"


def _links(i: Incident, links: Links) -> list[str]:
    """A runbook that is a path only is named."""
    runbook, graph = links.runbook(i), links.graph(i)
    found = [f"<{runbook}|runbook>" if runbook.startswith("http") else f"runbook {runbook}"]
    if graph:
        found.append(f"<{graph}|graph>")
    jobs = f"{len(i.jobs)} {plural('job', len(i.jobs))}" if i.jobs else "no job"
    return [*found, jobs, f"owner {i.owner}", f"`lockstep ack {i.id}`"]


def _safe(words: str) -> str:
    """As Slack wants its three signs of control written."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
