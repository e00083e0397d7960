"""Made-up jobs as NCCL's Inspector tells them: what each process's collectives and sends took.

A collective ends for all together, so a rank's time is the transfer and how much earlier than the last it came.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from collectors.contract.job import CollectiveWindow, Coords, JobEvent, Placement

S = 1_000_000
START_US = 1_700_000_000 * S
Factor = Callable[[int, int], float]


def even(_rank: int, _step: int) -> float:
    """Nobody is slow."""
    return 1.0


@dataclass(kw_only=True)
class Nccl:
    """Ranks are numbered dp-major, then pp, then tp. `compute(rank, step)`, `link(rank, step)`: factors on the own
    compute time, and on every transfer between nodes that the rank's process takes part in."""

    dp: int = 4
    pp: int = 1
    tp: int = 1
    per_node: int = 4
    step_s: float = 2.0
    transfer_s: float = 0.1
    sigma: float = 0.02
    compute: Factor = even
    link: Factor = even
    flush: int = 1
    """Steps that a process tells at once."""
    name: str = "j"
    seed: int = 1
    pids: bool = True
    replicas: bool = False
    """Ranks of a replica's stages have a communicator of their own, across the nodes."""
    _windows: dict[tuple[int, str], list[tuple[int, str, int, int, float, float, int | None]]] = field(
        default_factory=dict
    )

    @property
    def world(self) -> int:
        return self.dp * self.pp * self.tp

    def rank(self, d: int, p: int, t: int) -> int:
        return (d * self.pp + p) * self.tp + t

    def node(self, rank: int) -> str:
        return f"n{rank // self.per_node}"

    def placed(self) -> JobEvent:
        rows = []
        for r in range(self.world):
            coords = Coords(dp=r // (self.pp * self.tp), pp=r // self.tp % self.pp, tp=r % self.tp)
            index = r % self.per_node
            rows.append(Placement(rank=r, node=self.node(r), gpu_uuid=f"GPU-{r}", gpu_index=index, coords=coords))
        return JobEvent(job=self.name, ts_us=START_US - S, kind="placed", placement=rows)

    def beats(self) -> list[JobEvent]:
        """One heartbeat a rank, which says what process it is."""
        return [
            JobEvent(job=self.name, ts_us=START_US - S, kind="heartbeat", rank=r, node=self.node(r), pid=1000 + r)
            for r in range(self.world)
        ]

    def steps(self, first: int, count: int) -> Iterator[CollectiveWindow]:
        """All processes' windows of so many steps, in order of time."""
        for step in range(first, first + count):
            own = [self._own(r, step) for r in range(self.world)]
            arrive = self._tensor(own, step)
            ready = self._pipe(arrive, step)
            for p in range(self.pp):
                for t in range(self.tp):
                    group = [self.rank(d, p, t) for d in range(self.dp)]
                    self._collective(f"d{p:07x}{t:08x}", "dp", group, [ready[r] for r in group], step, 1 << 28)
            if self.replicas:
                for d in range(self.dp):
                    group = [self.rank(d, p, 0) for p in range(self.pp)]
                    self._collective(f"f{d:015x}", "replica", group, [ready[r] for r in group], step, 1 << 20)
            if (step + 1) % self.flush == 0:
                yield from self._told(START_US + int((step + 1) * self.step_s * S))

    def _own(self, rank: int, step: int) -> float:
        draw = random.Random(self.seed * 1_000_003 + rank * 1009 + step)
        return self.step_s * 0.6 * math.exp(draw.gauss(0.0, self.sigma)) * self.compute(rank, step)

    def _tensor(self, own: list[float], step: int) -> list[float]:
        if self.tp == 1:
            return own
        out = list(own)
        for d in range(self.dp):
            for p in range(self.pp):
                group = [self.rank(d, p, t) for t in range(self.tp)]
                for part in range(2):
                    arrive = [own[r] / 2 for r in group]
                    self._collective(f"7{d:07x}{p:08x}", "tp", group, arrive, 2 * step + part, 1 << 22)
                for r in group:
                    out[r] = max(own[q] for q in group)
        return out

    def _pipe(self, arrive: list[float], step: int) -> list[float]:
        """The slowest stage sets the replica's pace: its neighbours wait for it, in both directions."""
        if self.pp == 1:
            return arrive
        out = list(arrive)
        for d in range(self.dp):
            for t in range(self.tp):
                pipe = [self.rank(d, p, t) for p in range(self.pp)]
                slowest = max(arrive[r] for r in pipe)
                comm = f"c{d:07x}{t:08x}"
                for at in range(self.pp - 1):
                    for source, destination in ((at, at + 1), (at + 1, at)):
                        a, b = pipe[source], pipe[destination]
                        move = 0.01 * self._link([a, b], step)
                        wait = max(0.0, arrive[a] - arrive[b])
                        busbw = 0.1 / move
                        self._row(a, comm, "pp", "Send", step, source, 1 << 24, move, busbw, destination)
                        self._row(
                            b, comm, "pp", "Recv", step, destination, 1 << 24, move + wait, 0.1 / (move + wait), source
                        )
                for r in pipe:
                    out[r] = slowest
        return out

    def _link(self, ranks: Sequence[int], step: int) -> float:
        if len({self.node(r) for r in ranks}) == 1:
            return 1.0
        return max(self.link(r, step) for r in ranks)

    def _collective(self, comm: str, name: str, ranks: list[int], arrive: list[float], seq: int, size: int) -> None:
        step = seq // 2 if name == "tp" else seq
        draw = random.Random(f"{self.seed}{comm}{seq}")
        transfer = self.transfer_s * (1.0 if name == "dp" else 0.05) * math.exp(draw.gauss(0.0, self.sigma / 2))
        transfer *= self._link(ranks, step)
        last = max(arrive)
        for at, rank in enumerate(ranks):
            exec_s = last - arrive[at] + transfer
            self._row(rank, comm, name, "AllReduce", seq, at, size, exec_s, size / exec_s / 1e9, None, len(ranks))

    def _row(
        self,
        rank: int,
        comm: str,
        name: str,
        coll: str,
        seq: int,
        at: int,
        size: int,
        exec_s: float,
        busbw: float,
        peer: int | None,
        ranks: int | None = None,
    ) -> None:
        key = (rank, f"{comm}/{name}/{ranks if ranks is not None else self.pp}")
        self._windows.setdefault(key, []).append((at, coll, seq, size, round(exec_s * 1e6), busbw, peer))

    def _told(self, ts_us: int) -> Iterator[CollectiveWindow]:
        for (rank, key), rows in sorted(self._windows.items()):
            comm, name, size = key.split("/")
            yield CollectiveWindow(
                job=self.name,
                node=self.node(rank),
                ts_us=ts_us + rank,
                comm=comm,
                comm_size=int(size),
                comm_name=name,
                pid=1000 + rank if self.pids else None,
                rank=[row[0] for row in rows],
                coll=[row[1] for row in rows],
                seq=[row[2] for row in rows],
                bytes=[row[3] for row in rows],
                exec_us=[float(row[4]) for row in rows],
                busbw_gbs=[row[5] for row in rows],
                peer=[row[6] for row in rows],
            )
        self._windows = {}


def slow_from(rank: int, step: int, factor: float, until: int = 1 << 30) -> Factor:
    """One rank's factor over some steps."""
    return lambda r, s: factor if r == rank and step <= s < until else 1.0
