"""How well faults were found: each fault of a scenario against the incidents that were told.

Pure: truth and messages in, verdicts out; used in virtual time and by the live demo.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from infra.fleet.fault import KINDS, Fault
from infra.fleet.scenario import Scenario
from infra.truth import Reach, jobs_of, parts, reach
from streams.contract import Finding, Incident

LINGER_S = 60.0
"""A page up to this long after a fault's end still belongs to it."""
WAY_S = 2.0
"""From a scrape to the page: not counted as scrapes."""
SURE = 3.0
"""Errors an interval, on average, from which on nearly every scrape (95 %) shows one."""
POOL_FAULTS = 2
"""Faults so far from which on a page about their whole pool is right."""
EARLY_S = 2.0
"""Clocks and sampling may put an edge this much before the fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One incident over its life, as on-call was told of it. Information is not told, so it is not here."""

    id: str
    messages: tuple[Incident, ...]
    heard_us: tuple[int, ...]
    """When each of them came out; never before its own time."""

    @property
    def first(self) -> Incident:
        """The message that was told first."""
        return self.messages[0]

    @property
    def last(self) -> Incident:
        """What it ended as: its cause is the one that counts."""
        return self.messages[-1]


@dataclass(slots=True, kw_only=True)
class Verdict:
    """One fault: was it told, when, with which cause."""

    fault: Fault
    found: bool = False
    """Told on the right part, with a right cause, in time."""
    cause: str | None = None
    """The word that was said about the fault's own part."""
    cause_right: bool = False
    delay_s: float | None = None
    """From the fault's start until a message that named a right cause had come out."""
    delay_intervals: float | None = None
    """The same in scrapes, less two seconds for the way; None: scrapes are not what bounds it."""
    delay_steps: int | None = None
    """The same in steps of its job that can be judged; None: steps are not what bounds it."""
    pages: list[str] = field(default_factory=list)
    """Summaries of all incidents that this fault brought about; more than one is one too many."""

    @property
    def good(self) -> bool:
        """A fault that pages was found; one that must not page did not; of an optional one either is right."""
        return (self.found or self.fault.optional) if self.fault.page else not self.pages

    @property
    def counts(self) -> bool:
        """Whether precision and recall count it."""
        return self.fault.page and not self.fault.optional


@dataclass(slots=True, kw_only=True)
class FalsePage:
    """An incident without a fault behind it, or about something that must not page."""

    incident: Incident
    because: str

    @property
    def summary(self) -> str:
        """As on-call read it."""
        return self.incident.summary


@dataclass(slots=True, kw_only=True)
class Scoreboard:
    """The verdicts of one scenario."""

    scenario: str
    verdicts: list[Verdict]
    false_pages: list[FalsePage]
    findings: int = 0
    pages: int = 0
    seconds: float = 0.0
    """Of the scenario."""
    gpus: int = 0

    @property
    def missed(self) -> list[Verdict]:
        """Faults that should have been paged, with their cause and in time, and were not."""
        return [v for v in self.verdicts if v.counts and not v.found]

    @property
    def ok(self) -> bool:
        """Nothing missed, nobody woken for nothing."""
        return not self.missed and not self.false_pages


def judge(
    scenario: Scenario,
    findings: Sequence[Finding],
    incidents: Sequence[Incident],
    start_us: int,
    heard_us: Sequence[int] | None = None,
    steps: Mapping[str, Sequence[int]] | None = None,
) -> Scoreboard:
    """Match incidents to faults by part, time and cause.

    An incident on a fault's own part is its page; one on what the fault holds up (its job, its node) is a
    further page for the same fault, counted but not false; one on a pool of nodes with several faults belongs to none
    of them. What belongs to no paging fault is false.
    `heard_us`: when each incident came out (None: at its own time). `steps`: job -> ends of the steps that can be
    judged, in order, in microseconds.
    """
    verdicts = [Verdict(fault=fault) for fault in scenario.faults]
    reaches = [reach(fault, scenario) for fault in scenario.faults]
    false_pages: list[FalsePage] = []
    told = _told(incidents, heard_us)
    for case in told:
        at_s = (case.first.ts_us - start_us) / 1e6
        owner = _owner(case, at_s, verdicts, reaches)
        if owner is None and _is_of_all(case, at_s, verdicts):
            continue
        if owner is None:
            quiet = _must_not(case, at_s, verdicts, reaches)
            if quiet is not None:
                quiet.pages.append(case.last.summary)
                quiet.cause = case.last.cause_word
            why = f"{quiet.fault.name} must not page" if quiet is not None else "no fault behind it"
            false_pages.append(FalsePage(incident=case.last, because=why))
        else:
            _credit(case, *owner, start_us, scenario, steps or {})
    return Scoreboard(
        scenario=scenario.name,
        verdicts=verdicts,
        false_pages=false_pages,
        findings=len(findings),
        pages=len(told),
        seconds=scenario.seconds,
        gpus=len(scenario.layout.gpu_by_name),
    )


def _told(incidents: Sequence[Incident], heard_us: Sequence[int] | None) -> list[Told]:
    by_id: dict[str, list[tuple[int, int, Incident]]] = {}
    for place, incident in enumerate(incidents):
        if incident.severity != "info" and incident.planned is None:
            heard = max(incident.ts_us, heard_us[place] if heard_us is not None else 0)
            by_id.setdefault(f"{incident.cluster}/{incident.id}", []).append((incident.ts_us, heard, incident))
    out: list[Told] = []
    for key, rows in by_id.items():
        rows.sort(key=lambda row: row[0])
        out.append(Told(id=key, messages=tuple(row[2] for row in rows), heard_us=tuple(row[1] for row in rows)))
    return sorted(out, key=lambda told: (told.first.ts_us, told.id))


def _owner(case: Told, at_s: float, verdicts: list[Verdict], reaches: list[Reach]) -> tuple[Verdict, bool] | None:
    """The paging fault that an incident fits best, and whether it is about the fault's own part."""
    best: tuple[int, Verdict, bool] | None = None
    names = parts(case.last) | parts(case.first)
    for verdict, reached in zip(verdicts, reaches, strict=True):
        if not verdict.fault.page or not _in_time(verdict.fault, at_s):
            continue
        own = bool(names & reached.own)
        held = reached.held_up | (reached.silenced if case.last.detector == "silence" else frozenset())
        if not own and not names & held:
            continue
        right = case.last.cause_word in verdict.fault.expect
        rank = 2 * own + (own and right)
        if best is None or rank > best[0]:
            best = rank, verdict, own
    return best[1:] if best is not None else None


def _is_of_all(case: Told, at_s: float, verdicts: list[Verdict]) -> bool:
    """Whether an incident is about a pool of nodes in which several faults are at work: it belongs to none alone."""
    if case.last.subject.kind != "pool":
        return False
    return sum(v.fault.page and v.fault.from_s - EARLY_S <= at_s for v in verdicts) >= POOL_FAULTS


def _must_not(case: Told, at_s: float, verdicts: list[Verdict], reaches: list[Reach]) -> Verdict | None:
    names = parts(case.last)
    for verdict, reached in zip(verdicts, reaches, strict=True):
        if not verdict.fault.page and _in_time(verdict.fault, at_s) and names & reached.own:
            return verdict
    return None


def _in_time(fault: Fault, at_s: float) -> bool:
    return fault.from_s - EARLY_S <= at_s <= fault.to_s + LINGER_S


def _credit(
    case: Told,
    verdict: Verdict,
    own: bool,
    start_us: int,
    scenario: Scenario,
    steps: Mapping[str, Sequence[int]],
) -> None:
    """Book an incident to its fault."""
    verdict.pages.append(case.last.summary)
    fault = verdict.fault
    if not own or verdict.found:
        return
    verdict.cause = case.last.cause_word
    verdict.cause_right = verdict.cause in fault.expect
    if not verdict.cause_right:
        return
    told = zip(case.messages, case.heard_us, strict=True)
    heard = next(us for message, us in told if message.cause_word in fault.expect)
    verdict.delay_s = max(0.0, round((heard - start_us) / 1e6 - fault.from_s, 3))
    verdict.found = verdict.delay_s <= fault.within_s
    bound = KINDS[fault.kind].bound
    drips = KINDS[fault.kind].per_second and fault.size * scenario.interval_s < SURE
    waits = fault.kind == "gpu_vanished" and not jobs_of(fault, scenario)
    if bound == "scrapes" and not drips and not waits:
        verdict.delay_intervals = max(0.0, round((verdict.delay_s - WAY_S) / scenario.interval_s, 3))
    elif bound == "steps" and case.last.detector == "straggler":
        from_us = start_us + round(fault.from_s * 1e6)
        counts = [_between(steps[job], from_us, heard) for job in jobs_of(fault, scenario) if steps.get(job)]
        verdict.delay_steps = min(counts, default=None)


def _between(ends_us: Sequence[int], from_us: int, to_us: int) -> int:
    return bisect_right(ends_us, to_us) - bisect_right(ends_us, from_us)
