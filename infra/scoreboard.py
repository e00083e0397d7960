"""How well faults were found: each fault of a scenario against the incidents that were told.

Pure: truth and messages in, verdicts out; used in virtual time and by the live demo.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from infra.fleet.fault import KINDS, Fault
from infra.fleet.scenario import Scenario
from infra.truth import Reach, parts, reach
from streams.contract import Finding, Incident

LINGER_S = 60.0
"""A page up to this long after a fault's end still belongs to it."""
EARLY_S = 2.0
"""Clocks and sampling may put an edge this much before the fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One incident over its life, as on-call was told of it. Information is not told, so it is not here."""

    id: str
    messages: tuple[Incident, ...]

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
    """From the fault's start to the first message that named a right cause."""
    pages: list[str] = field(default_factory=list)
    """Summaries of all incidents that this fault brought about; more than one is one too many."""

    @property
    def good(self) -> bool:
        """A fault that pages was found; one that must not page did not."""
        return self.found if self.fault.page else not self.pages


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

    @property
    def missed(self) -> list[Verdict]:
        """Faults that should have been paged, with their cause and in time, and were not."""
        return [v for v in self.verdicts if v.fault.page and not v.found]

    @property
    def ok(self) -> bool:
        """Nothing missed, nobody woken for nothing."""
        return not self.missed and not self.false_pages


def judge(scenario: Scenario, findings: Sequence[Finding], incidents: Iterable[Incident], start_us: int) -> Scoreboard:
    """Match incidents to faults by part, time and cause.

    An incident on a fault's own part is its page; one on what the fault holds up (its job, its node) is a
    further page for the same fault, counted but not false. What belongs to no paging fault is false.
    """
    verdicts = [Verdict(fault=fault) for fault in scenario.faults]
    reaches = [reach(fault, scenario) for fault in scenario.faults]
    false_pages: list[FalsePage] = []
    told = _told(incidents)
    for case in told:
        at_s = (case.first.ts_us - start_us) / 1e6
        owner = _owner(case, at_s, verdicts, reaches)
        if owner is None:
            quiet = _must_not(case, at_s, verdicts, reaches)
            if quiet is not None:
                quiet.pages.append(case.last.summary)
                quiet.cause = case.last.cause_word
            why = f"{quiet.fault.name} must not page" if quiet is not None else "no fault behind it"
            false_pages.append(FalsePage(incident=case.last, because=why))
        else:
            _credit(case, *owner, start_us)
    return Scoreboard(
        scenario=scenario.name,
        verdicts=verdicts,
        false_pages=false_pages,
        findings=len(findings),
        pages=len(told),
    )


def _told(incidents: Iterable[Incident]) -> list[Told]:
    by_id: dict[str, list[Incident]] = {}
    for incident in incidents:
        if incident.severity != "info":
            by_id.setdefault(f"{incident.cluster}/{incident.id}", []).append(incident)
    out = [Told(id=key, messages=tuple(sorted(messages, key=lambda m: m.ts_us))) for key, messages in by_id.items()]
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


def _must_not(case: Told, at_s: float, verdicts: list[Verdict], reaches: list[Reach]) -> Verdict | None:
    names = parts(case.last)
    for verdict, reached in zip(verdicts, reaches, strict=True):
        if not verdict.fault.page and _in_time(verdict.fault, at_s) and names & reached.own:
            return verdict
    return None


def _in_time(fault: Fault, at_s: float) -> bool:
    return fault.from_s - EARLY_S <= at_s <= fault.to_s + LINGER_S


def _credit(case: Told, verdict: Verdict, own: bool, start_us: int) -> None:
    """Book an incident to its fault."""
    verdict.pages.append(case.last.summary)
    fault = verdict.fault
    if not own or verdict.found:
        return
    verdict.cause = case.last.cause_word
    verdict.cause_right = verdict.cause in fault.expect
    if not verdict.cause_right:
        return
    named = next(m for m in case.messages if m.cause_word in fault.expect)
    verdict.delay_s = max(0.0, round((named.ts_us - start_us) / 1e6 - fault.from_s, 3))
    verdict.found = verdict.delay_s <= fault.within_s


@dataclass(slots=True, kw_only=True)
class DetectorScore:
    """One detector over any number of scenarios."""

    name: str
    faults: int = 0
    found: int = 0
    right: int = 0
    false_pages: int = 0
    delays_s: list[float] = field(default_factory=list)

    @property
    def precision(self) -> float | None:
        """Of what it paged; None: it paged nothing."""
        paged = self.found + self.false_pages
        return self.found / paged if paged else None

    @property
    def recall(self) -> float | None:
        """Of its faults; None: there were none."""
        return self.found / self.faults if self.faults else None

    def delay_s(self, share: float) -> float | None:
        """The delay that this share of the found faults stayed within; None: none was found."""
        if not self.delays_s:
            return None
        ordered = sorted(self.delays_s)
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def by_detector(boards: Iterable[Scoreboard]) -> list[DetectorScore]:
    """Recall counts a fault to the detector that is answerable for it, precision a page to the one that spoke."""
    out: dict[str, DetectorScore] = {}
    for board in boards:
        for verdict in board.verdicts:
            if not verdict.fault.page:
                continue
            name = KINDS[verdict.fault.kind].detector
            score = out.setdefault(name, DetectorScore(name=name))
            score.faults += 1
            score.found += verdict.found
            score.right += verdict.cause_right
            if verdict.delay_s is not None and verdict.found:
                score.delays_s.append(verdict.delay_s)
        for false in board.false_pages:
            name = false.incident.detector
            out.setdefault(name, DetectorScore(name=name)).false_pages += 1
    return sorted(out.values(), key=lambda score: score.name)
