"""Cases put together and taken apart: which finding explains which in time and place, and what a case's cause is."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from streams.contract import Finding
from streams.correlator_causes import explains, is_outranked, is_silent_part, level, silent_place
from streams.correlator_common import SYMPTOM, Common, common, common_of_silent
from streams.correlator_limits import CorrelatorLimits
from streams.correlator_state import Case, CorrelatorState, Member
from streams.hurt import jobs_hurt
from streams.pause import LOSS, PRESSURE, STORM
from streams.standing import LINK_DOWN, LINK_STATE
from streams.world import World

OUTRANKED = LINK_STATE | {STORM, LOSS, PRESSURE}
"""Causes that another one may have brought about, whatever their levels."""


MANY = 64
"""A case with more findings than this is looked through only when its cause can change."""


@dataclass(slots=True)
class Cases:
    """Works on the state that it is given; all that is remembered stands there."""

    world: World
    limits: CorrelatorLimits = field(default_factory=CorrelatorLimits)

    def explains(self, state: CorrelatorState, cause: str, effect: str) -> bool:
        """May one finding (by key) have brought the other about? Closed cases explain nothing."""
        if cause == effect:
            return False
        a, b = state.members[cause], state.members[effect]
        if state.cases[a.case].closed_us is not None or state.cases[b.case].closed_us is not None:
            return False
        if not self.overlap(a, b):
            return False
        jobs = jobs_hurt(a.finding, self.world) if b.finding.subject.kind == "job" else set()
        return explains(a.finding, state.parts(cause), b.finding, state.parts(effect), jobs, self.world)

    def outranks(self, state: CorrelatorState, cause: str, effect: str) -> bool:
        """Is one finding (by key) the cause of another whatever their levels?"""
        a, b = state.members[cause], state.members[effect]
        return is_outranked(b.finding, state.parts(effect), a.finding, state.parts(cause), self.world)

    def overlap(self, a: Member, b: Member) -> bool:
        """Did both last at one time, give or take?"""
        slack = self.limits.join_us
        return (a.cleared_us is None or b.finding.episode_us <= a.cleared_us + slack) and (
            b.cleared_us is None or a.finding.episode_us <= b.cleared_us + slack
        )

    def merge(self, state: CorrelatorState, one: Case, two: Case) -> Case:
        """Fold two cases into the one that was told first; the other ends as a part of it."""
        if one.id == two.id:
            return one
        keep, fold = sorted((one, two), key=lambda c: (c.told is None, c.opened_us, c.id))
        joining = state.keys_of(fold.id)
        for key in joining:
            state.move(key, keep.id, state.members[key].weak)
        keep.due_us = min(keep.due_us, fold.due_us)
        keep.opened_us = min(keep.opened_us, fold.opened_us)
        keep.touched_us = max(keep.touched_us, fold.touched_us)
        keep.news = True
        if not self._is_one_more(state, keep, joining):
            self.reroot(state, keep)
        if fold.told is not None:
            # It was told on its own, so its end has to be told as well.
            fold.root, fold.fleet, fold.closed_us = keep.root, False, keep.touched_us
            state.folded.append(fold.id)
            state.changed.add(f"case|{fold.id}")
        else:
            state.drop(fold.id)
        state.changed.add(f"case|{keep.id}")
        return keep

    def _is_one_more(self, state: CorrelatorState, case: Case, joining: list[str]) -> bool:
        """Further silent parts of a large outage, which began later than its first: its root stays what it is."""
        if not case.fleet or case.common is not None or state.count_of(case.id) <= MANY:
            return False
        root = state.members[case.root].finding
        weight = level(root, self.world)
        return all(
            is_silent_part(f) and level(f, self.world) <= weight and f.episode_us > root.episode_us
            for f in (state.members[k].finding for k in joining)
        )

    def reroot(self, state: CorrelatorState, case: Case) -> None:
        """Find a case's cause again; a case that lost all its findings ends."""
        keys = state.keys_of(case.id)
        state.changed.add(f"case|{case.id}")
        if not keys and case.told is None:
            state.drop(case.id)
            return
        if not keys:
            case.closed_us = case.touched_us
            state.folded.append(case.id)
            return
        grade = {k: level(state.members[k].finding, self.world) for k in keys}
        outranked = self._outranked(state, keys)
        best = max(
            keys,
            key=lambda k: (
                k not in outranked,
                grade[k],
                k == case.root and case.told is not None,
                -state.members[k].finding.episode_us,
                k,
            ),
        )
        if best != case.root and grade[best] >= SYMPTOM:
            finding = state.members[best].finding
            case.due_us = min(case.due_us, finding.ts_us + self.hold_us(finding))
        case.root = best
        case.fleet = self._is_fleet(state, case, keys)
        findings = [state.members[k].finding for k in keys]
        if case.fleet:
            case.common = self._shared([f for f in findings if is_silent_part(f)])
        else:
            case.common = common(findings, findings[keys.index(best)], self.world, self.limits)

    def _outranked(self, state: CorrelatorState, keys: list[str]) -> set[str]:
        """Findings whose cause is among the others, whatever their levels; none where that goes round in a circle."""
        over = [k for k in keys if state.members[k].finding.cause == STORM or is_silent_part(state.members[k].finding)]
        under = [k for k in keys if state.members[k].finding.cause in OUTRANKED]
        found = {
            effect for effect in under if any(self.outranks(state, cause, effect) for cause in over if cause != effect)
        }
        storms = {k for k in over if state.members[k].finding.cause == STORM}
        return found - storms if storms and storms <= found else found

    def hold_us(self, finding: Finding) -> int:
        """What pages is told at once; an effect waits for its cause, a link for the host or rack that took it down."""
        if finding.cause == LINK_DOWN and finding.severity == "warning":
            return self.limits.link_hold_us
        return self.limits.hold_us if level(finding, self.world) < SYMPTOM else 0

    def _is_fleet(self, state: CorrelatorState, case: Case, keys: list[str]) -> bool:
        """Many silent parts that the silent root does not account for, or another node that is no chance."""
        root = state.members[case.root].finding
        if not is_silent_part(root):
            return False

        def others() -> Iterator[Finding]:
            for k in keys:
                finding = state.members[k].finding
                if k != case.root and is_silent_part(finding) and not self.explains(state, case.root, k):
                    yield finding

        return self.is_outage(chain((root,), others())) or any(self.is_pair(root, other) for other in others())

    def is_outage(self, silent: Iterable[Finding]) -> bool:
        """Are parts that fell silent together so many, for the size of the fleet, that it is no chance?"""
        places: set[str] = set()
        seen: list[Finding] = []
        for finding in silent:
            if not seen:
                enough = max(self.limits.together, math.ceil(self.limits.together_share * self._known(finding.cluster)))
            seen.append(finding)
            places.add(silent_place(finding))
            if len(places) >= enough:
                return True
        return len(places) > 1 and self._shared(seen) is not None

    def is_pair(self, a: Finding, b: Finding) -> bool:
        """Did two nodes fall silent together, for there are too few that could have done so by chance?"""
        if (a.cluster, a.subject.kind, b.subject.kind) != (b.cluster, "node", "node") or a.subject.id == b.subject.id:
            return False
        most = self.limits.together_of
        if self._known(a.cluster) <= most or common_of_silent((a, b), self.world, most) is not None:
            return True
        jobs = self.world.jobs_on_node(a.cluster, a.subject.id) & self.world.jobs_on_node(b.cluster, b.subject.id)
        return any(1 < len(self.world.placements.nodes_of(a.cluster, job)) <= most for job in jobs)

    def _shared(self, silent: list[Finding]) -> Common | None:
        """The rack or switch that all silent parts share; a few are a rack only when they are all of it."""
        places = {silent_place(finding) for finding in silent}
        shared = common_of_silent(silent, self.world)
        if shared is None or len(places) >= self.limits.together:
            return shared
        whole = shared.kind == "rack" and self.world.states.nodes_in(silent[0].cluster, shared.id) <= places
        return shared if whole else None

    def _known(self, cluster: str) -> int:
        return sum(1 for node in self.world.nodes if node.cluster == cluster)
