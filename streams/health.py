"""Node health: a score of 0 to 100 with its reasons, and a state that findings, schedulers and time move.

The score is that of the node's worst part. Advice only: nothing here drains a node.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from msgspec import structs

from streams import health_guard
from streams.contract import Finding, HealthReason, NodeHealth, finding_key
from streams.correlator_parts import finding_node
from streams.health_book import HealthBook, Mark, NodeMarks
from streams.health_failures import blame
from streams.health_limits import VERSION, HealthLimits
from streams.health_marks import is_replaced, mark_of
from streams.health_moves import OUT, Facts, deadline_us, move
from streams.health_score import SILENT, is_silent, moments, score, weigh, weight
from streams.health_words import word_of
from streams.placements import Named
from streams.world import World

IsCause = Callable[[str], bool]
"""Is this finding key the cause of its incident? Symptoms do not weigh."""
Told = list[NodeHealth | Finding]
_MOST_MOVES = 4
"""In one moment: taken out, empty, back."""


@dataclass(slots=True)
class Health:
    """Judges nodes; looks places, jobs and the words of schedulers up in the world."""

    world: World
    limits: HealthLimits = field(default_factory=HealthLimits)

    def step(self, book: HealthBook, finding: Finding, is_cause: IsCause) -> Told:
        """Take one edge of a finding; what it brings about, the time up to it included."""
        node = finding_node(finding, self.world)
        if node is None or finding.severity == "info" or finding.subject.kind in ("job", "collector", "comm"):
            return []
        name, key = Named(finding.cluster, node), finding_key(finding)
        known = book.nodes.get(name, NodeMarks()).marks.get(key)
        mark = self._edge(known, finding, node)
        if mark is None:
            return []
        # What this edge explains weighs no longer: else the two of them would pass for two kinds of fault.
        _turn(book.nodes.get(name, NodeMarks()), is_cause, but=key)
        out = self._until(book, name, finding.ts_us)
        mark.symptom = not is_cause(key) or (finding.state == "cleared" and known is not None and known.symptom)
        kept = book.nodes.setdefault(name, NodeMarks())
        kept.marks[key] = mark
        self._bound(kept)
        return out + self._judge(book, name, max(finding.ts_us, kept.judged_us))

    def tick(self, book: HealthBook, ts_us: int, is_cause: IsCause) -> Told:
        """Points fade, silence grows old, schedulers speak; nodes seen for the first time get their first word."""
        out: Told = []
        fresh = [name for name in self.world.nodes if name not in book.nodes]
        book.nodes.update((name, NodeMarks()) for name in fresh)
        for cluster in sorted({name.cluster for name in fresh}):
            health_guard.wake(book, cluster, ts_us)
        turned = {name for name, node in book.nodes.items() if node.told is None or _turn(node, is_cause)}
        # In the order of time over all nodes: what one gives up another may have.
        ahead = [
            (at, name) for name, node in book.nodes.items() if (at := self._next_us(node, name, ts_us)) is not None
        ]
        heapq.heapify(ahead)
        while ahead:
            at, name = heapq.heappop(ahead)
            node = book.nodes[name]
            if self._next_us(node, name, ts_us) != at:
                continue
            was_out = node.cordon
            out += self._judge(book, name, max(at, node.judged_us))
            held = health_guard.held(book, name.cluster) if was_out and not node.cordon else []
            for one in (name, *held):
                if (again := self._next_us(book.nodes[one], one, ts_us)) is not None:
                    heapq.heappush(ahead, (again, one))
        out += self._failures(book, ts_us)
        for name in sorted(turned):
            out += self._judge(book, name, max(ts_us, book.nodes[name].judged_us))
        return out

    def _failures(self, book: HealthBook, ts_us: int) -> Told:
        """Ends of jobs whose time of attribution has passed."""
        out: Told = []
        due = [end for end in self.world.failures.ends if end[1] + self.limits.failure_after_us <= ts_us]
        for job, ended_us in sorted(due, key=lambda end: (end[1], end[0])):
            for name in sorted(self.world.failures.ends.pop((job, ended_us))):
                node = book.nodes.get(named := Named(job.cluster, name))
                if node is not None and blame(node, job, ended_us, self.limits) is not None:
                    at = max(ended_us + self.limits.failure_after_us, node.judged_us)
                    out += self._judge(book, named, at)
        return out

    def _edge(self, known: Mark | None, finding: Finding, node: str) -> Mark | None:
        """The mark after an edge; None: it tells nothing new."""
        if known is None:
            mark = None if finding.state == "cleared" else mark_of(finding, node, self.world, self.limits)
            return mark if mark is not None and (mark.points > 0 or mark.kind == SILENT) else None
        if known.cleared_us is not None or finding.ts_us < known.ts_us:
            return None
        if finding.state != "cleared":
            mark = mark_of(finding, node, self.world, self.limits)
            mark.since_us, mark.symptom = known.since_us, known.symptom
            return None if mark == known else mark
        points = self.limits.after_hard if known.hard else known.points
        return structs.replace(known, points=points, ts_us=finding.ts_us, cleared_us=finding.ts_us)

    def _bound(self, node: NodeMarks) -> None:
        """Bounded whatever comes in: what ended first goes first, then what weighs least."""
        if len(node.marks) > self.limits.most_marks:
            least = min(
                node.marks,
                key=lambda k: (node.marks[k].cleared_us or 1 << 62, node.marks[k].points, node.marks[k].ts_us),
            )
            del node.marks[least]

    def _until(self, book: HealthBook, name: Named, ts_us: int) -> Told:
        """Every moment of one node up to `ts_us` at which time or a scheduler's word may change something."""
        out: Told = []
        node = book.nodes.setdefault(name, NodeMarks())
        while (at := self._next_us(node, name, ts_us)) is not None:
            out += self._judge(book, name, max(at, node.judged_us))
        return out

    def _next_us(self, node: NodeMarks, name: Named, ts_us: int) -> int | None:
        return min((us for us in self._moments(node, name, ts_us) if us <= ts_us), default=None)

    def _moments(self, node: NodeMarks, name: Named, ts_us: int) -> Iterator[int]:
        if node.due_us is not None:
            yield node.due_us
        word = word_of(self.world.states.words(*name), ts_us)
        if word.closed is not None and word.closed != node.closed:
            yield word.ts_us
        elif node.move.state == "draining" and not self.world.jobs_on_node(*name):
            yield ts_us

    def _judge(self, book: HealthBook, name: Named, ts_us: int) -> Told:
        """Everything that moves in one moment, and the word that says so where it is news."""
        node, out = book.nodes[name], Told()
        node.marks = {key: m for key, m in node.marks.items() if self._counts(name, m, ts_us)}
        node.judged_us = ts_us
        was_out = node.cordon
        for _ in range(_MOST_MOVES):
            facts = self._facts(book, name, ts_us)
            wish = facts.evidence.out(self.limits)
            moved = move(node, facts, self.limits)
            node.closed = facts.word.closed if facts.word.closed is not None else node.closed
            if moved is None:
                break
            node.move = moved
        held = bool(wish) and not node.cordon and node.move.state not in OUT
        if held and node.held_us is None:
            out += health_guard.hold(book, name.cluster, node, ts_us, self.limits)
        elif not held and node.held_us is not None:
            out += health_guard.release(book, name.cluster, node, ts_us, self.limits)
        if was_out and not node.cordon:
            health_guard.wake(book, name.cluster, ts_us)
        node.due_us = self._due_us(book, name, ts_us)
        book.changed.add(name)
        now = self._word(node, name, ts_us)
        if node.told is None or not _same(node.told, now):
            node.told = now
            out.append(now)
        return out

    def _counts(self, name: Named, mark: Mark, ts_us: int) -> bool:
        """Is a mark to be remembered? What lasts is; what is over until it has faded, or its GPU was replaced.

        Silence that ended matters for as long as a node has to be clean.
        """
        if mark.cleared_us is None:
            return True
        if mark.kind == SILENT:
            return ts_us - mark.cleared_us <= self.limits.probation_us
        faded = mark.points <= 0 or weight(mark, ts_us, self.limits) < self.limits.forget_points
        return not faded and not is_replaced(mark, name, self.world)

    def _facts(self, book: HealthBook, name: Named, ts_us: int) -> Facts:
        evidence = weigh(node := book.nodes[name], ts_us, self.limits)
        asks = bool(evidence.out(self.limits)) and not node.cordon
        return Facts(
            ts_us=ts_us,
            evidence=evidence,
            word=word_of(self.world.states.words(*name), ts_us),
            busy=bool(self.world.jobs_on_node(*name)),
            gpus=tuple(sorted(self.world.gpus_on_node(*name))),
            may_cordon=asks and health_guard.may_cordon(book, name.cluster, ts_us, self.limits),
        )

    def _due_us(self, book: HealthBook, name: Named, ts_us: int) -> int | None:
        node = book.nodes[name]
        times = [us for mark in node.marks.values() for us in moments(mark, ts_us, self.limits)]
        state, until = deadline_us(node, self.limits), word_of(self.world.states.words(*name), ts_us).until_us
        times += [us for us in (state, until) if us is not None]
        if node.held_us is not None and (room := health_guard.again_us(book, name.cluster, ts_us, self.limits)):
            times.append(room)
        return min((us for us in times if us > ts_us), default=None)

    def _word(self, node: NodeMarks, name: Named, ts_us: int) -> NodeHealth:
        silent = is_silent(node, ts_us, self.limits)
        state, last = node.move.state, node.move
        weighed = [(weight(m, ts_us, self.limits), key, m) for key, m in node.marks.items()]
        reasons = [
            HealthReason(cause=m.cause, points=round(points, 1), part=m.part, since_us=m.since_us, finding=key)
            for points, key, m in sorted(weighed, key=lambda row: (-row[0], row[1]))
            if points > 0
        ]
        since = min((m.since_us for m in node.marks.values() if m.kind == SILENT and m.cleared_us is None), default=0)
        return NodeHealth(
            cluster=name.cluster,
            ts_us=ts_us,
            node=name.name,
            score=score(node.marks.values(), ts_us, self.limits),
            schedulable=state not in OUT and not silent,
            state="unknown" if silent else state,
            reasons=reasons,
            version=VERSION,
            cordon=node.cordon and state in ("cordoned", "retired_candidate") and not node.closed,
            since_us=since + self.limits.unknown_after_us if silent else last.since_us,
            before=state if silent else last.before,
            why="silent" if silent else last.why,
            actor="lockstep" if silent else last.actor,
            evidence=list(last.evidence),
        )


def _turn(node: NodeMarks, is_cause: IsCause, but: str | None = None) -> bool:
    """Causes that are symptoms by now, and the reverse; whether there were any. What is over is no cause again: its
    incident may be forgotten."""
    turned = [
        m
        for key, m in node.marks.items()
        if key != but and m.symptom == is_cause(key) and (m.cleared_us is None or not m.symptom)
    ]
    for mark in turned:
        mark.symptom = not mark.symptom
    return bool(turned)


def _same(a: NodeHealth, b: NodeHealth) -> bool:
    """Equal for a scheduler and a person; fading points of one reason alone are no news until the score moves."""
    return (a.score, a.state, a.schedulable, a.cordon, a.since_us, a.why, [r.finding for r in a.reasons]) == (
        *(b.score, b.state, b.schedulable, b.cordon, b.since_us, b.why),
        [r.finding for r in b.reasons],
    )
