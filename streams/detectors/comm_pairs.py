"""Sends and receives: each has two ends only, so they point at a path, a stage or a NIC where collectives cannot."""

from collections import deque
from dataclasses import dataclass, field

from streams.detectors.comm_limits import CommLimits
from streams.detectors.straggler_statistic import median

_NEIGHBOURS = 2
"""A pipeline's rank sends to the next and the one before; one with more ends is an all-to-all."""
_WINDOWS = 16
"""Closed windows by which a stage may be judged."""


@dataclass(slots=True)
class Cell:
    """One direction between two ranks of a communicator. Bandwidths are those of bytes moved, GB/s."""

    past: deque[float] = field(default_factory=deque)
    best: float = 0.0
    """The highest of the open window: the one that waited least."""
    receives_us: list[float] = field(default_factory=list)
    """How long the receiver's calls took, of the open window."""
    waits: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_WINDOWS))
    """End of a window, and the median of that, of the last windows."""
    below: int = 0
    """Windows in a row that were slower than the past."""
    above: int = 0
    ratio: float | None = None
    """Last window's bandwidth over that of the past."""

    def close(self, limits: CommLimits, ts_us: int) -> None:
        """End a window."""
        if self.receives_us:
            self.waits.append((ts_us, median(self.receives_us)))
        self.receives_us = []
        if self.best > 0:
            if len(self.past) < limits.base_least:
                self.past.append(self.best)
            else:
                self.ratio = self.best / median(list(self.past))
                if self.ratio < 1 / limits.slow:
                    self.below, self.above = self.below + 1, 0
                else:
                    self.above += 1
                    if self.above >= limits.slow_windows or self.below < limits.slow_windows:
                        self.below = 0
                    self.past.append(self.best)
                    if len(self.past) > limits.base_windows:
                        self.past.popleft()
        self.best = 0.0


@dataclass(slots=True)
class Pairs:
    """All cells of one communicator, by (source, destination), in common windows."""

    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)
    seen: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """(Operation, rank, peer) -> the highest sequence number: what is not above it was told twice."""
    began_us: int | None = None
    judged_us: int = 0
    """The end of the last window."""
    bases: dict[str, float] = field(default_factory=dict)
    """What was kept of its past over a restart."""

    def take(
        self,
        limits: CommLimits,
        coll: str,
        rank: int,
        peer: int,
        seq: int,
        exec_us: float | None,
        busbw: float | None,
        ts_us: int,
    ) -> None:
        """Add one call of one end."""
        key = (coll, rank, peer)
        if seq <= self.seen.get(key, -1):
            return
        ends = (rank, peer) if coll == "Send" else (peer, rank)
        cell = self.cells.get(ends)
        if cell is None:
            if len(self.cells) >= limits.most_cells:
                return
            cell = self.cells[ends] = self._begin(limits, ends)
        self.seen[key] = seq
        if self.began_us is None:
            self.began_us = ts_us
        elif ts_us >= self.began_us + limits.window_us:
            for one in self.cells.values():
                one.close(limits, ts_us)
            self.began_us = self.judged_us = ts_us
        if busbw is not None and 0 < busbw < float("inf"):
            cell.best = max(cell.best, busbw)
        if coll == "Recv" and exec_us is not None:
            cell.receives_us.append(exec_us)
            if len(cell.receives_us) > 512:
                del cell.receives_us[0]

    def _begin(self, limits: CommLimits, ends: tuple[int, int]) -> Cell:
        base = self.bases.get(f"{ends[0]}>{ends[1]}")
        if base is None:
            return Cell()
        return Cell(past=deque([base] * limits.base_least), below=limits.slow_windows)

    def past_of_hot(self, limits: CommLimits) -> dict[str, float]:
        """What to keep: the past of the directions that are slow."""
        return {f"{a}>{b}": median(list(self.cells[(a, b)].past)) for a, b in self.hot(limits)}

    def is_pipeline(self) -> bool:
        """Does every rank send to two others at most?"""
        ends: dict[int, set[int]] = {}
        for source, destination in self.cells:
            ends.setdefault(source, set()).add(destination)
        return bool(ends) and all(len(others) <= _NEIGHBOURS for others in ends.values())

    def stage(self, limits: CommLimits, since_us: int) -> int | None:
        """The rank that since then keeps its neighbours waiting and does not wait itself; None: not clear."""
        kept: dict[int, float] = {}
        own: dict[int, float] = {}
        for (source, destination), cell in self.cells.items():
            lately = [wait_us for ts_us, wait_us in cell.waits if ts_us > since_us + limits.window_us]
            if lately:
                wait_us = median(lately)
                kept[source] = max(kept.get(source, 0.0), wait_us)
                own[destination] = max(own.get(destination, 0.0), wait_us)
        scores = sorted(((kept[rank] - own.get(rank, 0.0), rank) for rank in kept), reverse=True)
        if not scores or scores[0][0] <= 0:
            return None
        second = max(0.0, scores[1][0]) if len(scores) > 1 else 0.0
        return scores[0][1] if scores[0][0] >= limits.chain * second else None

    def hot(self, limits: CommLimits) -> list[tuple[int, int]]:
        """Directions that have been slow for enough windows, and not yet well for as many."""
        return [ends for ends, cell in self.cells.items() if cell.below >= limits.slow_windows]
