"""Findings that nothing explains, but that are not alone: what comes together has something in common."""

from dataclasses import dataclass

from streams.contract import Finding
from streams.correlator_cases import Cases, is_silent_part
from streams.correlator_state import Case, CorrelatorState, incident_id

BRAKE = "power_brake"


@dataclass(slots=True)
class Company:
    """Joins such findings *weakly*: a cause that turns up later takes its own."""

    cases: Cases

    def keep_company(self, state: CorrelatorState, key: str, home: Case) -> Case:
        """Unexplained, but not alone: slow ranks of one host are a slow host, parts silent at once one
        outage, power brakes at once one rack."""
        finding = state.members[key].finding
        if is_silent_part(finding):
            return self._silent_together(state, key, home)
        if finding.cause == BRAKE:
            return self._braked_together(state, finding, home)
        if finding.subject.kind != "rank":
            return home
        nodes = frozenset(p for p in state.parts(key).upstream if p.startswith("node:"))
        for other in state.depending_on(nodes):
            mate = state.members[other]
            case = state.cases[mate.case]
            if (
                other != key
                and case.closed_us is None
                and case.root == other
                and mate.finding.subject.kind == "rank"
                and mate.finding.detector == finding.detector
                and mate.finding.subject.job == finding.subject.job
                and self.cases.overlap(mate, state.members[key])
            ):
                together = self.cases.merge(state, case, home)
                for mate_key in state.keys_of(together.id):
                    if state.members[mate_key].finding.subject.kind == "rank":
                        state.members[mate_key].weak = mate_key != together.root
                        state.changed.add(f"finding|{mate_key}")
                return together
        return home

    def part_company(self, state: CorrelatorState, home: Case) -> list[str]:
        """A cause turned up that does not explain every slow rank that was here for company: those leave."""
        if state.members[home.root].finding.subject.kind == "rank":
            return []
        left: list[str] = []
        for key in state.keys_of(home.id):
            member = state.members[key]
            if not member.weak or member.finding.subject.kind != "rank":
                continue
            if self.cases.explains(state, home.root, key):
                member.weak = False
                state.changed.add(f"finding|{key}")
                continue
            finding = member.finding
            due = finding.ts_us + self.cases.limits.hold_us
            own = Case(incident_id(key), key, finding.episode_us, finding.ts_us, due, news=True)
            if own.id in state.cases:
                continue
            state.cases[own.id] = own
            state.move(key, own.id, weak=False)
            own = self.keep_company(state, key, own)
            state.changed.add(f"case|{own.id}")
            left.append(own.id)
        return left

    def _silent_together(self, state: CorrelatorState, key: str, home: Case) -> Case:
        mine = state.members[key].finding
        mates = []
        for case in state.cases.values():
            if case.closed_us is not None or case is home:
                continue
            root = state.members[case.root].finding
            if (
                root.cluster == mine.cluster
                and is_silent_part(root)
                and abs(root.episode_us - mine.episode_us) <= self.cases.limits.together_us
            ):
                mates.append(case)
        if not any(case.fleet for case in mates) and len(mates) + 1 < self.cases.limits.together:
            return home
        mates.sort(key=lambda c: (not c.fleet, c.told is None, c.opened_us, c.id))
        first = mates[0]
        for case in [*mates[1:], home]:
            for member in state.keys_of(case.id):
                state.members[member].weak = True
                state.changed.add(f"finding|{member}")
            first = self.cases.merge(state, first, case)
        return first

    def _braked_together(self, state: CorrelatorState, mine: Finding, home: Case) -> Case:
        for case in list(state.cases.values()):
            root = state.members[case.root].finding if case.closed_us is None and case is not home else None
            if (
                root is not None
                and root.cause == BRAKE
                and root.cluster == mine.cluster
                and abs(root.episode_us - mine.episode_us) <= self.cases.limits.braked_us
            ):
                return self.cases.merge(state, case, home)
        return home
