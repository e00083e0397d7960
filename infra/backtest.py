"""What the detectors would have told of the warehouse's past under other limits, beside what was told.

Pure but for the messages that it is handed: incidents of then and of now are matched by part and time.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.contract import Incident
from streams.pipeline import Pipeline
from streams.ticks import EventClock

SLACK_US = 300_000_000
"""Two incidents of one part that begin within this, or overlap, are one: limits move the moment, not the fault."""
GRAVITY = {"info": 0, "warning": 1, "critical": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One incident over its life, as it was or would have been told."""

    cluster: str
    id: str
    cause: str
    part: str
    """`kind id`."""
    severity: str
    opened_us: int
    cleared_us: int | None
    jobs: list[str]
    summary: str
    planned: bool = False

    @property
    def page(self) -> bool:
        """Would it have woken somebody?"""
        return self.severity == "critical" and not self.planned


@dataclass(frozen=True, slots=True)
class Match:
    """The same fault then and now; one of them None: told only on one side."""

    then: Told | None
    now: Told | None

    @property
    def told(self) -> Told:
        """As it would be told now; as it was, where it would not."""
        told = self.now or self.then
        assert told is not None
        return told

    @property
    def word(self) -> str:
        """What became of it."""
        if self.then is None:
            return "new"
        if self.now is None:
            return "gone"
        if self.then.page != self.now.page:
            return "now pages" if self.now.page else "pages no more"
        return "the same" if self.then.cause == self.now.cause else "another cause"


@dataclass(slots=True)
class Judged:
    """Incidents by id, as messages of one pipeline come."""

    told: dict[str, Told] = field(default_factory=dict)

    def hear(self, message: Message) -> None:
        """The last word of an incident counts; its severity never falls."""
        if not isinstance(message, Incident) or message.severity == "info":
            return
        name = f"{message.cluster}/{message.id}"
        before = self.told.get(name)
        severity = max(message.severity, before.severity if before else "info", key=GRAVITY.__getitem__)
        self.told[name] = Told(
            cluster=message.cluster,
            id=message.id,
            cause=message.cause_word,
            part=f"{message.subject.kind} {message.subject.id}",
            severity=severity,
            opened_us=message.opened_us,
            cleared_us=message.cleared_us,
            jobs=message.jobs,
            summary=message.summary,
            planned=message.planned is not None,
        )


def judge_again(
    past: Iterable[tuple[Topic[Any], Message]], pipeline: Pipeline, progress: Callable[[int], None]
) -> list[Told]:
    """Every message through the pipeline with a tick a second of its time. `progress` hears how far it is."""
    clock, judged = EventClock(), Judged()
    for topic, message in past:
        for now_us in clock.advance(message.ts_us):
            progress(now_us)
            for _, out in pipeline.tick(now_us):
                judged.hear(out)
        for _, out in pipeline.feed(topic, message):
            judged.hear(out)
    return list(judged.told.values())


def matched(then: Sequence[Told], now: Sequence[Told]) -> list[Match]:
    """Each incident of one side with at most one of the other: same part, overlapping in time, nearest first."""
    pairs = sorted(
        (abs(a.opened_us - b.opened_us), a.cause != b.cause, i, j)
        for i, a in enumerate(then)
        for j, b in enumerate(now)
        if (a.cluster, a.part) == (b.cluster, b.part) and _at_one_time(a, b)
    )
    taken_then: set[int] = set()
    taken_now: set[int] = set()
    out: list[Match] = []
    for _, _, i, j in pairs:
        if i not in taken_then and j not in taken_now:
            taken_then.add(i)
            taken_now.add(j)
            out.append(Match(then[i], now[j]))
    out += [Match(told, None) for i, told in enumerate(then) if i not in taken_then]
    out += [Match(None, told) for j, told in enumerate(now) if j not in taken_now]
    return sorted(out, key=lambda match: match.told.opened_us)


def begun_within(matches: Iterable[Match], start_us: int) -> list[Match]:
    """Without what was open already, on either side, when the span began: neither limit can be credited with it."""
    return [m for m in matches if all(told is None or told.opened_us >= start_us for told in (m.then, m.now))]


@dataclass(slots=True)
class Tally:
    """Incidents of one cause or of one day, then and with the new limits."""

    pages_then: int = 0
    tickets_then: int = 0
    pages_now: int = 0
    tickets_now: int = 0
    new: int = 0
    """Told only with the new limits."""
    gone: int = 0
    """Told only then."""

    def take(self, then: Told | None, now: Told | None) -> None:
        """Count one match, or one side of it."""
        if then is not None:
            self.pages_then += then.page
            self.tickets_then += not then.page
        if now is not None:
            self.pages_now += now.page
            self.tickets_now += not now.page


def tallies(matches: Iterable[Match], name: Callable[[Told], str]) -> dict[str, Tally]:
    """By the name of each side, which may differ: its cause, or the day on which it began."""
    out: dict[str, Tally] = defaultdict(Tally)
    for match in matches:
        if match.then is not None:
            out[name(match.then)].take(match.then, None)
        if match.now is not None:
            out[name(match.now)].take(None, match.now)
        out[name(match.told)].new += match.then is None
        out[name(match.told)].gone += match.now is None
    return dict(sorted(out.items()))


def _at_one_time(a: Told, b: Told) -> bool:
    return (a.cleared_us is None or b.opened_us <= a.cleared_us + SLACK_US) and (
        b.cleared_us is None or a.opened_us <= b.cleared_us + SLACK_US
    )
