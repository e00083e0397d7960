"""Level 2: what RAS counts. A single difference means nothing, for the question races the job; counts that stand
still do."""

from dataclasses import dataclass, field

from collectors.contract.job import CollectiveWindow, CommMember
from streams.detectors.hang_limits import HangLimits
from streams.detectors.roll import Roll, Who, in_order

GONE = ("dead", "silent")
"""States of a member that RAS does not reach: given up after a minute, or not answering this time."""
_IN_USE = 2
"""Polls in which a communicator got further make it one that is in use."""


@dataclass(slots=True, eq=False)
class Counted:
    """A communicator as RAS last told it."""

    ts_us: int
    size: int | None
    moved_us: int
    """The poll in which a count was first seen to be what it is now."""
    least: int | None = None
    """The lowest of all counts before the last that moved."""
    moves: int = 0
    """Judged polls in which all of its ranks had got further."""
    counts: dict[str, dict[int, int]] = field(default_factory=dict)
    """Kind of operation -> rank -> how many it has launched."""
    members: dict[int, CommMember] = field(default_factory=dict)

    def further(self, poll_us: int) -> bool:
        """Did its least advanced rank get further in this poll?"""
        lowest = self.lowest()
        return self.moved_us == poll_us and lowest is not None and self.least is not None and lowest > self.least

    def lowest(self) -> int | None:
        """The least advanced rank's counts, all kinds together."""
        return sum(min(of.values()) for of in self.counts.values()) if self.counts else None


@dataclass(frozen=True, slots=True)
class Still:
    """What stands in counts that stand still."""

    still_us: int
    behind: list[Who]
    """Ranks that have not launched what others have, and wait in no other communicator themselves."""
    waiting: int
    """Processes that launched what others have not."""
    dead: list[Who]
    silent: list[Who]
    errors: list[str]
    where: str | None
    """The communicator and kind of operation in which the first of them is behind."""
    crossed: bool = False
    """Those behind wait elsewhere themselves: ranks wait for each other."""


@dataclass(slots=True)
class Ras:
    """The last polls of one job."""

    comms: dict[str, Counted] = field(default_factory=dict)
    poll_us: int = 0
    judged_us: int = 0
    before_us: int = 0
    """The judged poll before that."""
    rows: int = 0
    still_us: int = 0
    """How long counts had stood still at the last judged poll."""
    moves: int = 0
    """Judged polls in which counts moved."""

    def take(self, limits: HangLimits, window: CollectiveWindow) -> None:
        """Add one window. Of one poll the same words may come twice, and of an older one nothing is news."""
        known = self.comms.get(window.comm)
        if known is None:
            if len(self.comms) >= limits.most_comms:
                return
            known = self.comms[window.comm] = Counted(window.ts_us, window.comm_size, window.ts_us)
        if window.ts_us < known.ts_us:
            return
        if window.ts_us > known.ts_us:
            known.least = known.lowest()
            known.ts_us = window.ts_us
        known.size = window.comm_size if window.comm_size is not None else known.size
        for member in window.members:
            if member.rank in known.members or self._room(limits):
                known.members[member.rank] = member
        for rank, count, kind in zip(window.rank, window.seq, window.coll, strict=False):
            if rank is None or count is None:
                continue
            before = known.counts.get(kind, {}).get(rank)
            if before == count or (before is None and not self._room(limits)):
                continue
            known.counts.setdefault(kind, {})[rank] = count
            known.moved_us = window.ts_us
        self.poll_us = max(self.poll_us, window.ts_us)

    def _room(self, limits: HangLimits) -> bool:
        self.rows += 1
        return self.rows <= limits.most_rows

    def judge(self) -> bool:
        """Close the newest poll; did all ranks get further in most of the communicators that are in use?

        One alone may be that of a thread which only asks whether the others live.
        """
        told = self._told()
        moved_us = max((one.moved_us for one in told), default=self.poll_us)
        self.before_us, self.judged_us = self.judged_us, self.poll_us
        self.still_us = self.poll_us - moved_us
        if self.still_us > 0 or not self.before_us:
            return False
        self.moves += 1
        in_use = [one for one in told if one.moves >= _IN_USE]
        further = [one for one in told if one.further(self.poll_us)]
        for one in further:
            one.moves += 1
        return len(further) > 0 and sum(one in further for one in in_use) * 2 >= len(in_use)

    def moved_us(self) -> int:
        """Since when the counts are what they are."""
        return self.judged_us - self.still_us

    def _told(self) -> list[Counted]:
        return [one for one in self.comms.values() if one.ts_us == self.poll_us]

    def verdict(self, roll: Roll) -> Still:
        """Who is behind and who is gone, by the newest poll."""
        behind: set[Who] = set()
        ahead: set[Who] = set()
        gone: dict[str, set[Who]] = {state: set() for state in GONE}
        errors: list[str] = []
        places: dict[Who, str] = {}
        for name, one in self.comms.items():
            if one.ts_us != self.poll_us:
                continue
            for rank, member in one.members.items():
                if member.state in gone:
                    gone[member.state].add(roll.of_member(name, one.size, rank, one.members))
                elif member.error is not None and len(errors) < 8:
                    who = roll.of_member(name, one.size, rank, one.members)
                    errors.append(f"NCCL reports on {who.words()}: {member.error}")
            for kind, of in one.counts.items():
                most = max(of.values(), default=0)
                late = {rank for rank, count in of.items() if count < most}
                if not late:
                    continue
                for rank in of:
                    who = roll.of_member(name, one.size, rank, one.members)
                    if rank in late:
                        behind.add(who)
                        places.setdefault(who, f"{kind} of communicator {name}: {of[rank]} of {most} launched")
                    else:
                        ahead.add(who)
        roots = in_order(behind - ahead) or in_order(behind)
        return Still(
            still_us=self.still_us,
            behind=roots,
            waiting=len(ahead),
            dead=in_order(gone["dead"]),
            silent=in_order(gone["silent"]),
            errors=errors,
            where=places.get(roots[0]) if roots else None,
            crossed=bool(behind) and behind <= ahead,
        )
