"""Findings in, incidents out: one per cause, with its symptoms folded in. No clock, no Kafka, no log.

A finding joins the case of what explains it, or opens one. A cause that turns up late takes over the case of
its symptom, under the same incident id. Findings of severity `info` (application errors, imbalance, a lone
burst) stay findings and open nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from streams.causes import FLEET_SILENCE
from streams.contract import Finding, Incident, finding_key
from streams.correlator_cases import MANY, Cases
from streams.correlator_causes import level
from streams.correlator_common import SYMPTOM
from streams.correlator_company import Company
from streams.correlator_limits import CorrelatorLimits
from streams.correlator_state import Case, CorrelatorState, Member, incident_id
from streams.detector import Tick
from streams.hurt import jobs_hurt
from streams.incidents import Edge, incident, standing_of
from streams.standing import standing_told
from streams.world import World


@dataclass(slots=True)
class Correlator:
    """The step and what it needs to look at; all that is remembered stands in the state."""

    world: World
    limits: CorrelatorLimits = field(default_factory=CorrelatorLimits)
    _cases: Cases = field(init=False)
    _company: Company = field(init=False)

    def __post_init__(self) -> None:
        self._cases = Cases(self.world, self.limits)
        self._company = Company(self._cases)

    def step(self, state: CorrelatorState, batch: Sequence[Finding | Tick]) -> tuple[CorrelatorState, list[Incident]]:
        """Judge findings in arrival order; ticks bring what is due."""
        out: list[Incident] = []
        for item in batch:
            if isinstance(item, Tick):
                turned = self._look_again(state, item.ts_us)
                for case in sorted(state.cases.values(), key=lambda c: (c.opened_us, c.id)):
                    out += self._due(state, case, item.ts_us)
                    if turned and case.id in state.cases:
                        out += self._restand(state, case, item.ts_us)
                state.folded.clear()
                continue
            for case_id in dict.fromkeys([*self._take(state, item), *state.folded]):
                out += self._tell(state, state.cases[case_id], item.ts_us)
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
        due = finding.ts_us + (self.limits.hold_us if level(finding, self.world) < SYMPTOM else 0)
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
            elif other.root == effect:
                home = self._cases.merge(state, home, other)
            elif member.weak or self._best_cause(state, effect) == key:
                for moved in [effect] if member.weak else self._with_effects(state, effect):
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
        """The gravest open finding that explains this one, the latest of equals; symptoms explain as well."""
        effect = state.members[key]
        found = [c for c in self._candidates(state, key) if self._cases.explains(state, c, key)]
        if not found:
            return None
        return max(
            found,
            key=lambda c: (
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

    def _with_effects(self, state: CorrelatorState, key: str) -> list[str]:
        """A finding and those of its case whose best cause it is, and theirs."""
        left = set(state.keys_of(state.members[key].case)) - {key, state.cases[state.members[key].case].root}
        found = [key]
        for cause in found:
            of_cause = [k for k in sorted(left) if self._best_cause(state, k) == cause]
            left.difference_update(of_cause)
            found += of_cause
        return found

    def _look_again(self, state: CorrelatorState, now_us: int) -> bool:
        """The world learned something (a placement or cable came late): judge the open findings once more.

        Whether orders or planned work may stand differently than at the last tick.
        """
        last_us, state.ticked_us = state.ticked_us, now_us
        if state.world_version == self.world.version:
            return self._turned_us(now_us) > last_us
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
        return True

    def _restand(self, state: CorrelatorState, case: Case, now_us: int) -> list[Incident]:
        """Somebody has seen it, muted it, or works there, or no longer: told at once, with the time it was said."""
        told = case.told
        if told is None or case.closed_us is not None:
            return []
        stands = standing_of(state, case, told.cause_word, told.subject, self.world, now_us)
        if stands == standing_told(told):
            return []
        return self._say(state, case, "updated", max(told.ts_us + 1, self._turned_us(now_us)))

    def _turned_us(self, now_us: int) -> int:
        return max(self.world.orders.turned_us(now_us), self.world.states.turned_us(now_us))

    def _due(self, state: CorrelatorState, case: Case, now_us: int) -> list[Incident]:
        """What the passing of time brings: first word, damped update, end, and at last to be forgotten."""
        if case.id in state.folded:
            return self._folded(state, case, now_us)
        if case.closed_us is not None:
            if now_us >= case.closed_us + self.limits.forget_us:
                state.drop(case.id)
            return []
        ends = [state.members[key].cleared_us for key in state.keys_of(case.id)]
        if None not in ends:
            end = max(e for e in ends if e is not None)
            if now_us < end + self.limits.settle_us:
                return []
            case.closed_us = end + self.limits.settle_us
            state.changed.add(f"case|{case.id}")
            return self._say(state, case, "cleared", case.closed_us, end) if case.told else []
        if case.told is None:
            return self._say(state, case, "opened", max(case.due_us, case.touched_us)) if now_us >= case.due_us else []
        due = case.told.ts_us + self.limits.update_us
        return self._say(state, case, "updated", max(due, case.touched_us)) if case.news and now_us >= due else []

    def _tell(self, state: CorrelatorState, case: Case, ts_us: int) -> list[Incident]:
        """What an edge brings at once: a hardware cause, a new cause or part, a graver severity, an end by folding."""
        if case.told is None:
            # A symptom is told by a tick: while a backlog is read, its cause may come right behind it.
            hardware = case.closed_us is None and case.root in state.members and ts_us >= case.due_us
            if not hardware or level(state.members[case.root].finding, self.world) < SYMPTOM:
                return []
            return self._say(state, case, "opened", ts_us)
        if case.id in state.folded:
            return self._folded(state, case, ts_us)
        if case.closed_us is not None:
            return []
        if case.told.severity == "critical" and _is_same_cause(state, case, case.told):
            return []
        fresh = incident(state, case, "updated", ts_us, self.world)
        if _gist(fresh) != _gist(case.told):
            return self._say(state, case, "updated", ts_us)
        return []

    def _say(
        self, state: CorrelatorState, case: Case, how: Edge, ts_us: int, cleared_us: int | None = None
    ) -> list[Incident]:
        fresh = incident(state, case, how, ts_us, self.world, cleared_us)
        case.news = False
        state.changed.add(f"case|{case.id}")
        if how == "updated" and case.told is not None and not _differs(case.told, fresh):
            return []
        case.told = fresh
        return [fresh]

    def _folded(self, state: CorrelatorState, case: Case, ts_us: int) -> list[Incident]:
        told = case.told
        assert told is not None
        into = state.members[case.root].case if case.root in state.members else "another incident"
        case.told = structs.replace(
            told, state="cleared", ts_us=ts_us, cleared_us=ts_us, summary=f"part of {into}: {told.summary}"
        )
        state.changed.add(f"case|{case.id}")
        return [case.told]


def _gist(i: Incident) -> tuple[str, str, str, str, str]:
    """What is told at once when it changes."""
    return i.cause, i.cause_word, i.severity, i.subject.kind, i.subject.id


def _is_same_cause(state: CorrelatorState, case: Case, told: Incident) -> bool:
    """Nothing that would be told at once can be new but the severity."""
    root = state.members[case.root].finding
    subject = case.common if case.common is not None else root.subject
    word = FLEET_SILENCE if case.fleet else root.cause
    return (told.cause, told.cause_word, told.subject.kind, told.subject.id) == (
        case.root,
        word,
        subject.kind,
        subject.id,
    )


def _order(finding: Finding) -> tuple[int, int]:
    return finding.ts_us, ("opened", "updated", "cleared").index(finding.state)


def _differs(told: Incident, now: Incident) -> bool:
    """Is there news in it for a person? Age and damped numbers are none."""
    return standing_told(told) != standing_told(now) or any(
        getattr(told, name) != getattr(now, name)
        for name in (
            "severity",
            "cause",
            "cause_word",
            "subject",
            "symptoms",
            "jobs",
            "gpus",
            "gpu_hours_lost_per_hour",
            "candidates",
            "confidence",
        )
    )
