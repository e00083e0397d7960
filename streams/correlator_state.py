"""What the correlator remembers: open findings, the cases they belong to, and an index from parts to findings."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from streams.contract import Finding, Incident
from streams.correlator_common import Common
from streams.correlator_parts import Parts, parts_of
from streams.world import World


class Member(Struct):
    """One episode of one finding, as its last edge said it."""

    finding: Finding
    case: str
    cleared_us: int | None = None
    over: str = ""
    """Why it ended, as its detector said."""
    weak: bool = False
    """Joined by company (the same host, the same moment), not by a known cause: a cause that turns up takes it."""


class Case(Struct):
    """One incident in the making. `id` never changes, whatever its cause turns out to be."""

    id: str
    root: str
    """Finding key of the cause."""
    opened_us: int
    touched_us: int
    """Time of the last edge of any member."""
    due_us: int
    """When it may be told: symptoms wait a little for their cause."""
    fleet: bool = False
    """Many parts fell silent at one moment."""
    common: Common | None = None
    """The part that its findings have in common, where enough of them do."""
    told: Incident | None = None
    """The last message; None: nothing said yet."""
    news: bool = False
    closed_us: int | None = None


class Row(Struct):
    """What one row of the Table holds."""

    member: Member | None = None
    case: Case | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Row)


@dataclass(slots=True)
class CorrelatorState:
    """Members and cases; the rest is derived. `changed`: row keys to write since the last `take_changes`."""

    members: dict[str, Member] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    world_version: int = -1
    retrying: frozenset[tuple[str, str]] = frozenset()
    """Cluster and name of hosts whose transport retries now: a job on them is hurt by what it may cross."""
    folded: list[str] = field(default_factory=list)
    """Told cases that just became part of another; their end is told in the same step."""
    _of_case: dict[str, dict[str, None]] = field(default_factory=dict)
    _parts: dict[str, Parts] = field(default_factory=dict)
    _by_own: dict[str, dict[str, None]] = field(default_factory=dict)
    _by_upstream: dict[str, dict[str, None]] = field(default_factory=dict)

    def retry(self, hosts: frozenset[tuple[str, str]]) -> None:
        """Other hosts retry now: what may hurt a job is to be judged again."""
        if hosts == self.retrying:
            return
        self.retrying = hosts
        for case in self.cases.values():
            if case.told is None or case.closed_us is not None:
                continue
            if self.members[case.root].finding.subject.kind in ("port", "device"):
                case.news = True
                self.changed.add(f"case|{case.id}")

    def add(self, key: str, member: Member, world: World) -> None:
        """Take a finding in."""
        self.members[key] = member
        self._of_case.setdefault(member.case, {})[key] = None
        self._index(key, parts_of(member.finding, world))
        self.changed.add(f"finding|{key}")

    def move(self, key: str, case: str, weak: bool) -> None:
        """Put a finding under another case."""
        member = self.members[key]
        self._of_case[member.case].pop(key, None)
        member.case, member.weak = case, weak
        self._of_case.setdefault(case, {})[key] = None
        self.changed.add(f"finding|{key}")

    def drop(self, case: str) -> None:
        """Forget a closed case and its findings."""
        for key in self._of_case.pop(case, {}):
            self._unindex(key)
            del self.members[key]
            self.changed.add(f"finding|{key}")
        del self.cases[case]
        self.changed.add(f"case|{case}")

    def keys_of(self, case: str) -> list[str]:
        """Finding keys of a case, by the start of their episodes."""
        return sorted(self._of_case.get(case, ()), key=lambda k: (self.members[k].finding.episode_us, k))

    def members_of(self, case: str) -> Iterator[tuple[str, Member]]:
        """Findings of a case with their keys, in the order in which they came to it."""
        return ((key, self.members[key]) for key in self._of_case.get(case, ()))

    def count_of(self, case: str) -> int:
        """Findings of a case."""
        return len(self._of_case.get(case, ()))

    def parts(self, key: str) -> Parts:
        """The parts of a member, as last worked out."""
        return self._parts[key]

    def on(self, parts: frozenset[str]) -> dict[str, None]:
        """Findings whose own part or reach is among these, by their keys."""
        return dict.fromkeys(sorted({key for part in parts for key in self._by_own.get(part, ())}))

    def depending_on(self, parts: frozenset[str]) -> dict[str, None]:
        """Findings that these parts could have brought about, by their keys."""
        return dict.fromkeys(sorted({key for part in parts for key in self._by_upstream.get(part, ())}))

    def reindex(self, key: str, world: World) -> bool:
        """Work the parts of a member out again; did they change?"""
        now = parts_of(self.members[key].finding, world)
        if now == self._parts[key]:
            return False
        self._unindex(key)
        self._index(key, now)
        return True

    def take_changes(self) -> dict[str, bytes | None]:
        """Rows to write since the last call; None: delete."""
        rows: dict[str, bytes | None] = {}
        for row in sorted(self.changed):
            kind, _, key = row.partition("|")
            member = self.members.get(key) if kind == "finding" else None
            case = self.cases.get(key) if kind == "case" else None
            rows[row] = _encoder.encode(Row(member=member, case=case)) if member or case else None
        self.changed.clear()
        return rows

    def _index(self, key: str, parts: Parts) -> None:
        self._parts[key] = parts
        for part in parts.own | parts.reach:
            self._by_own.setdefault(part, {})[key] = None
        for part in parts.upstream:
            self._by_upstream.setdefault(part, {})[key] = None

    def _unindex(self, key: str) -> None:
        parts = self._parts.pop(key)
        for index, names in ((self._by_own, parts.own | parts.reach), (self._by_upstream, parts.upstream)):
            for part in names:
                index[part].pop(key, None)
                if not index[part]:
                    del index[part]


def restore(rows: dict[str, bytes], world: World) -> CorrelatorState:
    """The state from its rows. Raises `msgspec.MsgspecError` on bytes that are not ours."""
    state = CorrelatorState()
    found = [(key, _decoder.decode(raw)) for key, raw in rows.items()]
    for _, row in found:
        if row.case is not None:
            state.cases[row.case.id] = row.case
    members = [(key.partition("|")[2], row.member) for key, row in found if row.member is not None]
    for key, member in sorted(members, key=lambda m: (m[1].finding.episode_us, m[0])):
        if member.case in state.cases:
            state.add(key, member, world)
    state.changed.clear()
    return state


def incident_id(root: str) -> str:
    """Deterministic from the finding key that opened it: the same fault, the same incident, on any worker."""
    return "inc-" + hashlib.sha256(root.encode()).hexdigest()[:12]
