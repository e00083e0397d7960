"""Findings that nothing explains, but that are not alone: what comes together has something in common."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from streams.contract import Finding
from streams.correlator_cases import Cases
from streams.correlator_causes import is_silent_part, silent_place
from streams.correlator_common import BRAKE, Group, groups
from streams.correlator_parts import finding_node
from streams.correlator_state import Case, CorrelatorState, incident_id
from streams.standing import planned


@dataclass(slots=True)
class Company:
    """Joins such findings *weakly*: a cause that turns up later takes its own."""

    cases: Cases

    def keep_company(self, state: CorrelatorState, key: str, home: Case) -> Case:
        """Unexplained, but not alone: slow ranks of one host are a slow host, parts silent at once one outage,
        what brakes, heats up or drops in many places of one node, switch or rack at once is a fault of that."""
        finding = state.members[key].finding
        if is_silent_part(finding):
            return self._silent_together(state, key, home)
        if finding.subject.kind != "rank":
            home = self._gathered(state, key, home)
            return self._braked_together(state, finding, home) if finding.cause == BRAKE else home
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

    def _gathered(self, state: CorrelatorState, key: str, home: Case) -> Case:
        """Join those that share a part with enough others; a second one waits a little for a third."""
        world, limits = self.cases.world, self.cases.limits
        finding = state.members[key].finding
        if planned(finding, world, finding.ts_us) is not None:
            return home
        for group in groups(finding, world, limits):
            run = self._run(state, key, group)
            if len(set(run.values())) >= group.need:
                cases = [state.cases[state.members[k].case] for k in run]
                for case in sorted(cases, key=lambda c: (c.told is None, c.opened_us, c.id)):
                    if case.id in state.cases and case.closed_us is None and case.id != home.id:
                        home = self.cases.merge(state, case, home)
                for k in run:
                    state.members[k].weak = k != home.root
                    state.changed.add(f"finding|{k}")
                return home
            if len(run) > 1 and home.told is None:
                home.due_us = max(home.due_us, finding.ts_us + limits.gather_us)
        return home

    def _run(self, state: CorrelatorState, key: str, group: Group) -> dict[str, str]:
        """Findings like this one in the group that nothing else explains and that began one soon after the other,
        with the child that each is on."""
        world, limits = self.cases.world, self.cases.limits
        cluster = state.members[key].finding.cluster
        alike: list[tuple[int, str, str]] = []
        for other in state.depending_on(frozenset((f"{group.kind}:{cluster}/{group.id}",))):
            mate = state.members[other]
            case = state.cases[mate.case]
            if case.closed_us is not None or (case.root != other and not mate.weak):
                continue
            if other != key and planned(mate.finding, world, mate.finding.ts_us) is not None:
                continue
            for g in groups(mate.finding, world, limits):
                if (g.kind, g.id, g.alike) == (group.kind, group.id, group.alike):
                    alike.append((mate.finding.episode_us, other, g.child))
        run: dict[str, str] = {}
        last: int | None = None
        for episode_us, other, child in sorted(alike):
            if last is not None and episode_us - last > limits.together_us:
                if key in run:
                    break
                run = {}
            run[other] = child
            last = episode_us
        return run if key in run else {}

    def _silent_together(self, state: CorrelatorState, key: str, home: Case) -> Case:
        """One outage with what fell silent shortly before or after; of a few only those that have it together."""
        mine = state.members[key].finding
        if planned(mine, self.cases.world, mine.ts_us) is not None:
            return home
        mates = [c for c in state.cases.values() if c is not home and any(self._near(state, c, mine))]
        together = chain((mine,), *(self._silent(state, case) for case in mates))
        if not self.cases.is_outage(together):
            mates = [c for c in mates if any(self._is_mate(mine, f) for f in self._near(state, c, mine))]
        if not mates:
            return home
        mates.sort(key=lambda c: (not c.fleet, c.told is None, c.opened_us, c.id))
        roots, first = [home.root, *(case.root for case in mates)], mates[0]
        for case in [*mates[1:], home]:
            first = self.cases.merge(state, first, case)
        for root in roots:
            state.members[root].weak = root != first.root
            state.changed.add(f"finding|{root}")
        return first

    def _silent(self, state: CorrelatorState, case: Case) -> Iterator[Finding]:
        """What fell silent there with nothing to explain it, planned work included."""
        if case.closed_us is not None or not is_silent_part(state.members[case.root].finding):
            return
        for key, member in state.members_of(case.id):
            if (key == case.root or member.weak) and is_silent_part(member.finding):
                yield member.finding

    def _near(self, state: CorrelatorState, case: Case, mine: Finding) -> Iterator[Finding]:
        """Of these, what fell silent shortly before or after."""
        for finding in self._silent(state, case):
            near = abs(finding.episode_us - mine.episode_us) <= self.cases.limits.together_us
            if near and finding.cluster == mine.cluster and planned(finding, self.cases.world, mine.ts_us) is None:
                yield finding

    def _is_mate(self, mine: Finding, other: Finding) -> bool:
        """Two collectors of one host are one silence, and so far no more than that."""
        return silent_place(mine) == silent_place(other) or self.cases.is_pair(mine, other)

    def _braked_together(self, state: CorrelatorState, mine: Finding, home: Case) -> Case:
        """Brakes at one moment have one cause; where racks are known, those of one rack are joined by the rack."""
        for case in sorted(state.cases.values(), key=lambda c: (c.opened_us, c.id)):
            root = state.members[case.root].finding if case.closed_us is None and case.id != home.id else None
            if (
                root is not None
                and root.cause == BRAKE
                and root.cluster == mine.cluster
                and abs(root.episode_us - mine.episode_us) <= self.cases.limits.braked_us
                and (self._rack(root) is None or self._rack(mine) is None)
            ):
                return self.cases.merge(state, case, home)
        return home

    def _rack(self, finding: Finding) -> str | None:
        node = finding_node(finding, self.cases.world)
        return self.cases.world.states.rack(finding.cluster, node) if node is not None else None
