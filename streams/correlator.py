"""Findings in, incidents out: one per cause, with its symptoms folded in. No clock, no Kafka, no log.

A finding joins the case of what explains it, or opens one. A cause that turns up late takes over the case of
its symptom, under the same incident id. Findings of severity `info` (application errors, imbalance, a lone
burst) stay findings and open nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from streams.contract import Finding, Incident, finding_key
from streams.correlator_cases import MANY, Cases
from streams.correlator_causes import level
from streams.correlator_company import Company
from streams.correlator_limits import CorrelatorLimits
from streams.correlator_state import Case, CorrelatorState, Member, incident_id
from streams.correlator_telling import Telling
from streams.detector import Tick
from streams.hurt import jobs_hurt
from streams.world import World


@dataclass(slots=True)
class Correlator:
    """The step and what it needs to look at; all that is remembered stands in the state."""

    world: World
    limits: CorrelatorLimits = field(default_factory=CorrelatorLimits)
    _cases: Cases = field(init=False)
    _company: Company = field(init=False)
    _telling: Telling = field(init=False)

    def __post_init__(self) -> None:
        self._cases = Cases(self.world, self.limits)
        self._company = Company(self._cases)
        self._telling = Telling(self.world, self.limits)

    def step(self, state: CorrelatorState, batch: Sequence[Finding | Tick]) -> tuple[CorrelatorState, list[Incident]]:
        """Judge findings in arrival order; ticks bring what is due."""
        out: list[Incident] = []
        for item in batch:
            if isinstance(item, Tick):
                self._look_again(state)
                for case in sorted(state.cases.values(), key=lambda c: (c.opened_us, c.id)):
                    out += self._telling.restand(state, case, item.ts_us)
                    out += self._telling.due(state, case, item.ts_us)
                state.folded.clear()
                continue
            for case_id in dict.fromkeys([*self._take(state, item), *state.folded]):
                out += self._telling.tell(state, state.cases[case_id], item.ts_us)
            state.folded.clear()
        return state, out

    def _take(self, state: CorrelatorState, finding: Finding) -> list[str]:
        """Take one edge in; the cases that it touched."""
        key = finding_key(finding)
        member = state.members.get(key)
        if member is None:
            if finding.severity == "info" or finding.state == "cleared":
                return []
            return self._admit(state, key, finding)
        last, case = member.finding, state.cases[member.case]
        if case.closed_us is not None or _order(finding) <= _order(last):
            return []
        if finding.state == "cleared":
            member.cleared_us = finding.ts_us
            member.over = "" if finding.summary == last.summary else finding.summary
            member.finding = structs.replace(last, state="cleared", ts_us=finding.ts_us)
        else:
            member.finding = finding
        case.touched_us = max(case.touched_us, finding.ts_us)
        case.news = True
        state.changed |= {f"finding|{key}", f"case|{case.id}"}
        moved = finding.state != "cleared" and (finding.cause, finding.severity) != (last.cause, last.severity)
        if (state.reindex(key, self.world) or moved) and (case.root == key or state.count_of(case.id) == 1):
            # It names another cause or part now: what explains it, and what it explains, may be others.
            return self._join(state, key)
        if finding.state != "cleared" or state.count_of(case.id) <= MANY:
            self._cases.reroot(state, case)
        return [case.id]

    def _admit(self, state: CorrelatorState, key: str, finding: Finding) -> list[str]:
        due = finding.ts_us + self._cases.hold_us(finding)
        own = Case(incident_id(key), key, finding.episode_us, finding.ts_us, due)
        if own.id in state.cases:
            return []
        state.cases[own.id] = own
        state.add(key, Member(finding, own.id), self.world)
        return self._join(state, key)

    def _join(self, state: CorrelatorState, key: str) -> list[str]:
        """Find what explains a finding, then what it explains; the cases touched, the surviving one first."""
        home = state.cases[state.members[key].case]
        before = state.count_of(home.id)
        cause = self._best_cause(state, key)
        if cause is not None and (before == 1 or home.root == key):
            home = self._cases.merge(state, state.cases[state.members[cause].case], home)
        elif before == 1:
            home = self._company.keep_company(state, key, home)
        touched, taken = {home.id: None}, False
        for effect in self._effects(state, key):
            member = state.members[effect]
            other = state.cases[member.case]
            if other.id == home.id:
                member.weak = False
                state.changed.add(f"finding|{effect}")
            elif other.root == effect and self._explains_company(state, key, other):
                home = self._cases.merge(state, home, other)
            elif other.root == effect or member.weak or self._best_cause(state, effect) == key:
                for moved in self._with_effects(state, effect):
                    state.move(moved, home.id, weak=False)
                taken = True
                self._cases.reroot(state, other)
                other.news = True
                state.changed.add(f"case|{other.id}")
                touched[other.id] = None
        home.touched_us = max(home.touched_us, state.members[key].finding.ts_us)
        home.news = True
        if taken or state.count_of(home.id) <= MANY:
            self._cases.reroot(state, home)
        state.changed.add(f"case|{home.id}")
        touched.update(dict.fromkeys(self._company.part_company(state, home)))
        return [case for case in {home.id: None, **touched} if case in state.cases]

    def _best_cause(self, state: CorrelatorState, key: str) -> str | None:
        """The finding that explains this one: what outranks it, then the gravest, the nearest in time of equals.
        Symptoms explain as well."""
        effect = state.members[key]
        found = [c for c in self._candidates(state, key) if self._cases.explains(state, c, key)]
        if not found:
            return None
        return max(
            found,
            key=lambda c: (
                self._cases.outranks(state, c, key),
                level(state.members[c].finding, self.world),
                -abs(state.members[c].finding.episode_us - effect.finding.episode_us),
                c,
            ),
        )

    def _candidates(self, state: CorrelatorState, key: str) -> Iterable[str]:
        finding = state.members[key].finding
        yield from state.on(state.parts(key).upstream)
        if finding.subject.kind == "job":
            yield from list(state.members)

    def _effects(self, state: CorrelatorState, key: str) -> list[str]:
        found = state.depending_on(state.parts(key).own | state.parts(key).reach)
        for job in sorted(jobs_hurt(state.members[key].finding, self.world)):
            part = frozenset((f"job:{state.members[key].finding.cluster}/{job}",))
            found.update(dict.fromkeys(state.on(part)))
        return [k for k in found if self._cases.explains(state, key, k)]

    def _explains_company(self, state: CorrelatorState, key: str, case: Case) -> bool:
        """Does it explain all that is in a case for company? Ranks that it does not explain leave afterwards."""
        weak = (k for k, m in state.members_of(case.id) if m.weak and m.finding.subject.kind != "rank")
        return all(self._cases.explains(state, key, k) for k in weak)

    def _with_effects(self, state: CorrelatorState, key: str) -> list[str]:
        """A finding and those of its case whose best cause it is, and theirs."""
        left = set(state.keys_of(state.members[key].case)) - {key, state.cases[state.members[key].case].root}
        found = [key]
        for cause in found:
            of_cause = [k for k in sorted(left) if self._best_cause(state, k) == cause]
            left.difference_update(of_cause)
            found += of_cause
        return found

    def _look_again(self, state: CorrelatorState) -> None:
        """The world learned something (a placement or cable came late): judge the open findings once more."""
        if state.world_version == self.world.version:
            return
        state.world_version = self.world.version
        for key in list(state.members):
            member = state.members.get(key)
            if member is None or state.cases[member.case].closed_us is not None:
                continue
            case = state.cases[member.case]
            if case.root == key and not case.news:
                case.news = True
                state.changed.add(f"case|{case.id}")
            if state.reindex(key, self.world) and case.root == key and member.cleared_us is None:
                self._join(state, key)


def _order(finding: Finding) -> tuple[int, int]:
    return finding.ts_us, ("opened", "updated", "cleared").index(finding.state)
