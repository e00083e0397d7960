"""Node health: 0 to 100, the minimum over the node's parts, with the reasons; a first version of the score.

Weights are starting points of ours, to be fitted on nodes that turned out bad; `VERSION` names them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from streams.contract import Finding, HealthReason, HealthState, NodeHealth, finding_key
from streams.correlator_causes import BROKEN, level
from streams.correlator_parts import finding_gpu, finding_node
from streams.placements import Named
from streams.world import World

VERSION = 1
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLimits:
    """Points taken off by the detector that spoke; hard faults take all while they last."""

    half_life_us: int = 7 * DAY_US
    soft: dict[str, float] = field(
        default_factory=lambda: {
            "straggler": 25.0,
            "throttle": 15.0,
            "memory": 10.0,
            "xid": 20.0,
            "lossless_drop": 10.0,
            "gpu_link": 10.0,
        }
    )
    hard: float = 100.0
    after_hard: float = 50.0
    """What a hard fault still weighs when it cleared: a repaired part has to prove itself."""
    suspect_below: float = 80.0
    cordon_below: float = 50.0
    margin: float = 5.0
    """A band is left upwards only by so much, and ..."""
    dwell_us: int = 15 * 60 * 1_000_000
    """... after so long in it."""
    two_kinds_us: int = DAY_US
    """Two independent soft kinds on one part within this cordon it."""
    guard_share: float = 0.2
    """No more of the known nodes than this are taken out for soft reasons."""
    forget_points: float = 0.5


class Mark(Struct):
    """One finding that weighs on a part of a node."""

    cluster: str
    node: str
    part: str
    cause: str
    kind: str
    points: float
    hard: bool
    since_us: int
    cleared_us: int | None = None


class NodeMarks(Struct):
    """What weighs on one node, and what was said of it last."""

    marks: dict[str, Mark] = msgspec.field(default_factory=dict)
    told: NodeHealth | None = None
    changed_us: int = 0


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(NodeMarks)


@dataclass(slots=True)
class HealthBook:
    """Nodes by name. `changed`: rows to write since the last `take_changes`."""

    nodes: dict[Named, NodeMarks] = field(default_factory=dict)
    changed: set[Named] = field(default_factory=set)

    def take_changes(self) -> dict[str, bytes | None]:
        """Rows `node|cluster/name` to write."""
        rows: dict[str, bytes | None] = {
            f"node|{n.cluster}/{n.name}": _encoder.encode(self.nodes[n]) for n in sorted(self.changed)
        }
        self.changed.clear()
        return rows


def restore(rows: dict[str, bytes]) -> HealthBook:
    """The state from its rows. Raises `msgspec.MsgspecError` on bytes that are not ours."""
    state = HealthBook()
    for key, raw in rows.items():
        cluster, _, node = key.partition("|")[2].partition("/")
        state.nodes[Named(cluster, node)] = _decoder.decode(raw)
    return state


@dataclass(slots=True)
class Health:
    """Judges nodes by their findings; looks places up in the world."""

    world: World
    limits: HealthLimits = HealthLimits()

    def step(self, book: HealthBook, finding: Finding, is_cause: Callable[[str], bool]) -> list[NodeHealth]:
        """Take one edge. `is_cause`: is this finding key the cause of its incident? Symptoms do not weigh."""
        mark = self._mark(finding)
        if mark is None:
            return []
        key, name = finding_key(finding), Named(mark.cluster, mark.node)
        node = book.nodes.setdefault(name, NodeMarks())
        known = node.marks.get(key)
        if known is None and finding.state != "cleared":
            node.marks[key] = mark
        elif known is not None and known.cleared_us is None and finding.state == "cleared":
            known.cleared_us = finding.ts_us
            if known.hard:
                known.hard, known.points = False, self.limits.after_hard
        elif known is None or known.cleared_us is not None or known == mark:
            return []
        else:
            mark.since_us = known.since_us
            node.marks[key] = mark
        book.changed.add(name)
        return self._judge(book, name, finding.ts_us, is_cause)

    def tick(self, book: HealthBook, ts_us: int, is_cause: Callable[[str], bool]) -> list[NodeHealth]:
        """Points fade, silence grows old, and nodes seen for the first time get their first word."""
        out: list[NodeHealth] = []
        for name in self.world.nodes:
            book.nodes.setdefault(name, NodeMarks())
        for name in list(book.nodes):
            out += self._judge(book, name, ts_us, is_cause)
        return out

    def _mark(self, finding: Finding) -> Mark | None:
        node = finding_node(finding, self.world)
        kind = finding.subject.kind
        if node is None or finding.severity == "info" or kind in ("job", "collector"):
            return None
        grave = level(finding, self.world) >= BROKEN or (finding.detector == "silence" and kind == "gpu")
        points = self.limits.hard if grave else self.limits.soft.get(finding.detector, 0.0)
        part = finding_gpu(finding, self.world) if kind in ("gpu", "rank") else None
        return Mark(
            cluster=finding.cluster,
            node=node,
            part=f"gpu {part}" if part else f"{kind} {finding.subject.id}",
            cause=finding.cause,
            kind=f"silent {kind}" if finding.detector == "silence" else finding.detector,
            points=points,
            hard=grave,
            since_us=finding.episode_us,
        )

    def _weight(self, mark: Mark, ts_us: int) -> float:
        if mark.cleared_us is None:
            return mark.points
        return mark.points * float(0.5 ** (max(0, ts_us - mark.cleared_us) / self.limits.half_life_us))

    def _judge(self, book: HealthBook, name: Named, ts_us: int, is_cause: Callable[[str], bool]) -> list[NodeHealth]:
        node = book.nodes[name]
        for key, mark in list(node.marks.items()):
            faded = mark.cleared_us is not None and self._weight(mark, ts_us) < self.limits.forget_points
            if faded or (mark.kind == "straggler" and mark.cleared_us is None and not is_cause(key)):
                del node.marks[key]
                book.changed.add(name)
        by_part: dict[str, float] = {}
        for mark in node.marks.values():
            by_part[mark.part] = by_part.get(mark.part, 0.0) + self._weight(mark, ts_us)
        score = float(round(max(0.0, 100.0 - max(by_part.values(), default=0.0))))
        state = self._state(book, name, score, ts_us)
        reasons = [
            HealthReason(
                cause=m.cause,
                points=round(self._weight(m, ts_us), 1),
                part=m.part,
                since_us=m.since_us,
                finding=key,
            )
            for key, m in sorted(node.marks.items(), key=lambda kv: (-kv[1].points, kv[0]))
        ]
        now = NodeHealth(
            cluster=name.cluster,
            ts_us=ts_us,
            node=name.name,
            score=score,
            schedulable=state in ("healthy", "suspect"),
            state=state,
            reasons=reasons,
            version=VERSION,
        )
        if node.told is not None and _same(node.told, now):
            return []
        if node.told is None or node.told.state != state:
            node.changed_us = ts_us
        node.told = now
        book.changed.add(name)
        return [now]

    def _state(self, book: HealthBook, name: Named, score: float, ts_us: int) -> HealthState:
        node, lim = book.nodes[name], self.limits
        marks = node.marks.values()
        silent = [m.since_us for m in marks if m.kind == "silent node" and m.cleared_us is None]
        if silent and ts_us - min(silent) >= UNKNOWN_AFTER_US:
            return "unknown"
        hard = any(m.hard for m in marks)
        recent: dict[str, set[str]] = {}
        for m in marks:
            if m.points > 0 and (m.cleared_us is None or ts_us - m.cleared_us < lim.two_kinds_us):
                recent.setdefault(m.part, set()).add(m.kind)
        wish: HealthState = "healthy"
        if hard or score < lim.cordon_below or any(len(kinds) >= 2 for kinds in recent.values()):
            wish = "cordoned"
        elif score < lim.suspect_below:
            wish = "suspect"
        before = node.told.state if node.told is not None else "healthy"
        if _BANDS[wish] > _BANDS[before] and before != "unknown":
            # Better than before: only by a margin, and not at once.
            line = lim.cordon_below if before == "cordoned" else lim.suspect_below
            if score < line + lim.margin or ts_us - node.changed_us < lim.dwell_us:
                wish = before
        if wish == "cordoned" and before != "cordoned" and not hard and not self._may_cordon(book, name):
            return "suspect"
        return wish

    def _may_cordon(self, book: HealthBook, name: Named) -> bool:
        """A fault that looks the same everywhere must not empty the fleet: at most a share goes at once."""
        of_cluster = [n for k, n in book.nodes.items() if k.cluster == name.cluster]
        out = sum(1 for n in of_cluster if n.told is not None and n.told.state == "cordoned")
        return out + 1 <= max(1.0, self.limits.guard_share * len(of_cluster))


UNKNOWN_AFTER_US = 10 * 60 * 1_000_000
_BANDS: dict[str, int] = {"unknown": 0, "cordoned": 1, "suspect": 2, "healthy": 3}


def _same(a: NodeHealth, b: NodeHealth) -> bool:
    """Equal for a scheduler and a person; fading points of one reason alone are no news until the score moves."""
    return (a.score, a.state, a.schedulable, [r.finding for r in a.reasons]) == (
        b.score,
        b.state,
        b.schedulable,
        [r.finding for r in b.reasons],
    )
