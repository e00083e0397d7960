"""Level 3: what each rank's flight recorder says: who did not enter the first collective that others entered."""

from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.contract.job import CollectiveWindow
from collectors.contract.ranks import unpack_ranks
from streams.detectors.hang_limits import HangLimits
from streams.detectors.roll import Roll, Who, in_order

_P2P = ("Send", "Recv")
_NONE = -1
"""A rank that never entered a collective of the group."""


@dataclass(slots=True)
class Reached:
    """How far one rank came in one group. Sequence numbers of collectives."""

    ts_us: int
    enqueued: int = _NONE
    started: int = _NONE
    completed: int = _NONE
    kind: str = ""
    """Of the last that it entered."""
    since_us: int | None = None
    """When the oldest operation was called that has not ended."""
    pairs: set[tuple[str, int]] = field(default_factory=set)
    """Sends and receives that have not ended, with their other ends."""


@dataclass(slots=True)
class Group:
    """One process group: the job's ranks in its order, where the dumps list them, and how far each came."""

    name: str
    ranks: list[int] | None
    size: int | None
    reached: dict[int, Reached] = field(default_factory=dict)


class Read(NamedTuple):
    """What the dumps say together."""

    absent: list[Who]
    """Ranks that did not enter what others wait in, and wait nowhere themselves."""
    undumped: list[Who]
    """Ranks that left no dump at all."""
    inside: bool
    """All ranks of a group are inside the same operation."""
    crossed: bool
    """Ranks wait for each other in different operations."""
    waiting: int
    where: str | None
    comm: str | None
    since_us: int | None


@dataclass(slots=True)
class Recorder:
    """All dumps of one hang."""

    groups: dict[str, Group] = field(default_factory=dict)
    newest_us: int = 0
    judged_us: int = 0
    rows: int = 0

    def take(self, limits: HangLimits, window: CollectiveWindow) -> None:
        """Add one rank's window; a newer dump of the rank replaces what it said of the group."""
        rank = window.job_rank
        if rank is None:
            return
        group = self.groups.get(window.comm)
        if group is None:
            if len(self.groups) >= limits.most_comms:
                return
            ranks = _ranks(window)
            if ranks is not None and self.rows + len(ranks) > limits.most_rows:
                return
            self.rows += len(ranks) if ranks is not None else 0
            group = Group(window.comm_name or window.comm, ranks, window.comm_size)
            self.groups[window.comm] = group
        known = group.reached.get(rank)
        if known is not None and window.ts_us < known.ts_us:
            return
        if known is None or window.ts_us > known.ts_us:
            self.rows += known is None
            if self.rows > limits.most_rows:
                return
            known = group.reached[rank] = Reached(window.ts_us)
        _read(known, window)
        self.newest_us = max(self.newest_us, window.ts_us)

    def read(self, roll: Roll) -> Read:
        """Put the dumps together. A rank that is behind in one group because it waits in another is not the one."""
        behind: set[int] = set()
        waiting: set[int] = set()
        inside: list[tuple[str, Group]] = []
        where: dict[int, tuple[str, str]] = {}
        since: list[int] = []
        for name, group in self.groups.items():
            late, ahead = _pending(group)
            pair_late, pair_ahead, paired = _pairs(group)
            newest = _newest(group) if late else ""
            for rank in late:
                where.setdefault(rank, (newest, name))
            for rank in pair_late:
                where.setdefault(rank, (f"a send or receive of {group.name}", name))
            behind |= late | pair_late
            waiting |= ahead | pair_ahead
            if paired or (ahead and not late):
                inside.append((name, group))
            since += [one.since_us for one in group.reached.values() if one.since_us is not None]
        dumped = {rank for group in self.groups.values() for rank in group.reached}
        members = {rank for group in self.groups.values() for rank in group.ranks or ()}
        absent = behind - waiting
        place, comm = next((where[r] for r in sorted(absent or behind) if r in where), (None, None))
        if place is None and inside:
            comm, group = inside[0]
            place = _newest(group)
        return Read(
            absent=in_order({roll.of_rank(rank) for rank in absent}),
            undumped=in_order({roll.of_rank(rank) for rank in members - dumped}),
            inside=bool(inside) and not absent,
            crossed=bool(behind) and not absent,
            waiting=len(waiting),
            where=place,
            comm=comm,
            since_us=min(since, default=None),
        )


def _newest(group: Group) -> str:
    """The last collective that any rank entered, in words."""
    last = max(group.reached.values(), key=lambda one: one.enqueued)
    return f"{last.kind or 'operation'} {last.enqueued} of {group.name}"


def _ranks(window: CollectiveWindow) -> list[int] | None:
    try:
        return unpack_ranks(window.comm_ranks) if window.comm_ranks is not None else None
    except ValueError:  # a list that nobody of ours wrote says nothing
        return None


def _read(known: Reached, window: CollectiveWindow) -> None:
    none: list[None] = [None] * len(window.rank)
    states = window.state or none
    columns = zip(window.seq, window.coll, states, window.created_us or none, window.peer or none, strict=False)
    collective = False
    for seq, kind, state, created_us, peer in columns:
        if state != "completed" and created_us is not None:
            known.since_us = created_us if known.since_us is None else min(known.since_us, created_us)
        if kind in _P2P:
            if state != "completed" and peer is not None:
                known.pairs.add((kind, peer))
            continue
        if seq is None:
            continue
        collective = True
        if seq > known.enqueued:
            known.enqueued, known.kind = seq, kind
        if state in ("started", "completed"):
            known.started = max(known.started, seq)
        if state == "completed":
            known.completed = max(known.completed, seq)
    if not collective and known.enqueued == _NONE and not known.pairs:
        # All its entries are older than the buffer, or there were none: the group's own count is what is left.
        known.enqueued = _or_none(window.last_enqueued)
        known.started = _or_none(window.last_started)
        known.completed = _or_none(window.last_completed)


def _or_none(value: int | None) -> int:
    return _NONE if value is None else value


def _pending(group: Group) -> tuple[set[int], set[int]]:
    """Ranks that did not enter the last collective that any entered, and ranks that wait in it."""
    reached = group.reached
    if len(reached) < 2:
        return set(), set()
    most = max(one.enqueued for one in reached.values())
    if most == _NONE:
        return set(), set()
    late = {rank for rank, one in reached.items() if one.enqueued < most}
    ahead = {rank for rank, one in reached.items() if one.enqueued == most and one.completed < most}
    if late or not ahead:
        return (late, ahead) if ahead else (set(), set())
    begun = {rank for rank, one in reached.items() if one.started >= most}
    if begun and len(begun) < len(reached):
        return set(reached) - begun, begun & ahead
    return set(), ahead if begun else set()


def _pairs(group: Group) -> tuple[set[int], set[int], bool]:
    """The same of sends and receives; and whether both ends of one are inside it."""
    late: set[int] = set()
    ahead: set[int] = set()
    both = False
    ranks = group.ranks or []
    at = {rank: index for index, rank in enumerate(ranks)}
    for rank, one in group.reached.items():
        own = at.get(rank)
        if not one.pairs or own is None:
            continue
        for kind, peer in one.pairs:
            other = ranks[peer] if 0 <= peer < len(ranks) else None
            theirs = group.reached.get(other) if other is not None else None
            ahead.add(rank)
            if theirs is None or other is None:
                continue
            if ("Recv" if kind == "Send" else "Send", own) in theirs.pairs:
                both = True
            else:
                late.add(other)
    return late, ahead, both
