"""One collective put together from what each rank says of it.

transfer = the shortest time: the last to arrive waits for nobody. wait of a rank = its time less the transfer. No
clocks are compared (jobs of ByteDance's traces: the spread of the times is the spread of the arrivals).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.detectors.comm_limits import CommLimits
from streams.detectors.straggler_statistic import median

Kind = tuple[str, int]
"""Operation, and the power of two below its bytes (-1: not told)."""


class Joined(NamedTuple):
    """A collective that all or most ranks told of. Seconds."""

    ts_us: int
    kind: Kind
    transfer_s: float
    wait_s: float
    """Median of the others' waits."""
    last: int | None
    """The rank that came last; None: two have the same time."""


@dataclass(slots=True)
class Pending:
    """A collective that is still coming in. Microseconds by rank."""

    first_us: int
    last_us: int
    kind: Kind
    exec_us: dict[int, float] = field(default_factory=dict)
    added: int = 0
    """1: the last word was news."""


@dataclass(slots=True)
class Joins:
    """The open collectives of one communicator."""

    open: dict[tuple[str, int], Pending] = field(default_factory=dict)
    floor: dict[str, int] = field(default_factory=dict)
    """Operation -> the highest sequence number that was closed: what is not above it is old or told twice."""

    def take(self, coll: str, seq: int, rank: int, exec_us: float, size: int | None, ts_us: int) -> Pending | None:
        """Add one rank's word; the collective, None where it is closed already."""
        key = (coll, seq)
        pending = self.open.get(key)
        if pending is None:
            if seq <= self.floor.get(coll, -1):
                return None
            kind = (coll, size.bit_length() - 1 if size is not None and size > 0 else -1)
            pending = self.open[key] = Pending(ts_us, ts_us, kind)
        pending.added = 0
        if rank not in pending.exec_us:
            pending.exec_us[rank] = exec_us
            pending.added = 1
            if ts_us > pending.last_us:
                pending.last_us = ts_us
        return pending

    def close(self, limits: CommLimits, key: tuple[str, int], ranks: int, ts_us: int) -> Joined | None:
        """Take it out; None where too few ranks told of it."""
        pending = self.open.pop(key)
        coll, seq = key
        if seq > self.floor.get(coll, -1):
            self.floor[coll] = seq
        times = pending.exec_us
        if len(times) < 2 or len(times) < limits.present * ranks:
            return None
        order = sorted(times.values())
        shortest = order[0]
        last = None
        if order[1] > shortest:
            last = next(rank for rank, exec_us in times.items() if exec_us == shortest)
        return Joined(ts_us, pending.kind, shortest / 1e6, (median(order[1:]) - shortest) / 1e6, last)

    def rows(self) -> int:
        """What ranks said of the open ones."""
        return sum(len(pending.exec_us) for pending in self.open.values())

    def due(self, limits: CommLimits, now_us: int) -> Iterator[tuple[tuple[str, int], int]]:
        """Those that are waited for no longer, oldest first, and when that was."""
        for key, pending in list(self.open.items()):
            deadline_us = pending.first_us + limits.join_us
            if deadline_us > now_us and len(self.open) <= limits.most_open:
                return
            yield key, min(deadline_us, max(now_us, pending.last_us))
