"""Made-up training jobs: step reports with the shapes and noises that are published for real ones."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collectors.contract.job import Coords, JobEvent, Phase, Placement, StepReport
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.straggler import StragglerDetector

S = 1_000_000
START_US = 1_700_000_000 * S


@dataclass(frozen=True, kw_only=True)
class Job:
    """`compute(rank, step)` in seconds; ranks are numbered pp-major, then dp, then tp.

    `data`, `cpu` and `transfer` are told only where given. Data and transfer are a part of the step; a host's own work
    runs beside the GPU's.
    """

    dp: int = 1
    pp: int = 1
    tp: int = 1
    per_node: int = 8
    compute: Callable[[int, int], float]
    steps: int = 44
    step_s: float = 5.0
    name: str = "j"
    attempt: int = 0
    model: str = "H100"
    model_of: Callable[[int], str] | None = None
    """Rank -> GPU model, in a job of several."""
    data: Callable[[int, int], float] | None = None
    cpu: Callable[[int, int], float] | None = None
    transfer: Callable[[int, int], float] | None = None
    tells_compute: bool = True
    microbatches: Callable[[int, int], tuple[list[float], list[float]] | None] | None = None
    """(rank, step) -> forward and backward times; None: not told of this step."""
    virtual: Callable[[int], tuple[int, ...]] | None = None
    """Rank -> its virtual stages."""
    config: Callable[[int], str | None] = lambda _step: None
    batch: Callable[[int], int] | None = None
    """Step -> global batch size."""

    @property
    def world(self) -> int:
        return self.dp * self.pp * self.tp

    def coords(self, rank: int) -> Coords:
        return Coords(
            pp=rank // (self.dp * self.tp),
            dp=rank // self.tp % self.dp,
            tp=rank % self.tp,
            virtual_stages=None if self.virtual is None else self.virtual(rank),
        )

    def node(self, rank: int) -> str:
        return f"n{rank // self.per_node}"

    def placed(self, ts_us: int = START_US - S) -> JobEvent:
        return JobEvent(
            ts_us=ts_us,
            job=self.name,
            attempt=self.attempt,
            kind="placed",
            placement=[
                Placement(
                    rank=r,
                    node=self.node(r),
                    gpu_uuid=f"GPU-{r}",
                    gpu_model=self.model if self.model_of is None else self.model_of(r),
                    coords=self.coords(r),
                )
                for r in range(self.world)
            ],
        )

    def reports(self, phase: Callable[[int], Phase] = lambda _: "train") -> list[StepReport]:
        """One report per node and step. All ranks end a step together, so the fast ones wait."""
        out = []
        ts_us = START_US
        for step in range(self.steps):
            compute = [self.compute(r, step) for r in range(self.world)]
            data = self._column(self.data, step)
            transfer = self._column(self.transfer, step)
            cpu = self._column(self.cpu, step)
            pairs = [] if self.microbatches is None else [self.microbatches(r, step) for r in range(self.world)]
            own = [c + d for c, d in zip(compute, data or [0.0] * self.world, strict=True)]
            total = max(own) + max(transfer or [0.2])
            ts_us += int(total * S)
            for first in range(0, self.world, self.per_node):
                ranks = list(range(first, min(first + self.per_node, self.world)))
                out.append(
                    StepReport(
                        ts_us=ts_us + first,
                        job=self.name,
                        attempt=self.attempt,
                        node=self.node(first),
                        rank=ranks,
                        step=[step] * len(ranks),
                        phase=[phase(step)] * len(ranks),
                        step_s=[total] * len(ranks),
                        compute_s=[compute[r] for r in ranks] if self.tells_compute else [],
                        wait_s=[max(own) - own[r] if transfer else total - own[r] for r in ranks],
                        transfer_s=[transfer[r] for r in ranks] if transfer else [],
                        data_s=[data[r] for r in ranks] if data else [],
                        cpu_s=[cpu[r] for r in ranks] if cpu else [],
                        microbatch_forward_s=[p and p[0] for p in (pairs[r] for r in ranks)] if pairs else [],
                        microbatch_backward_s=[p and p[1] for p in (pairs[r] for r in ranks)] if pairs else [],
                        global_batch_size=[self.batch(step)] * len(ranks) if self.batch is not None else [],
                        config_hash=self.config(step),
                    )
                )
        return out

    def _column(self, tell: Callable[[int, int], float] | None, step: int) -> list[float]:
        return [] if tell is None else [tell(r, step) for r in range(self.world)]


def noisy(
    seed: int, mean_s: float, sigma: float, slow: Callable[[int, int], float] = lambda _r, _s: 1.0
) -> Callable[[int, int], float]:
    """Log-normal compute times, times a factor by rank and step. The same for the same seed, rank and step."""

    def compute(rank: int, step: int) -> float:
        draw = random.Random(seed * 1_000_003 + rank * 1009 + step)
        return mean_s * math.exp(draw.gauss(0.0, sigma)) * slow(rank, step)

    return compute


def slow_from(rank: int, step: int, factor: float) -> Callable[[int, int], float]:
    """One rank is `factor` times slower from a step on."""
    return lambda r, s: factor if r == rank and s >= step else 1.0


def run(messages: Sequence[object], detector: StragglerDetector | None = None, tick: bool = True) -> list[Finding]:
    """All findings, with a last tick a minute after the last message."""
    detector = detector or StragglerDetector()
    state, out = detector.step(detector.fresh(), messages)  # type: ignore[arg-type]
    if tick:
        last = max(m.ts_us for m in messages)  # type: ignore[attr-defined]
        state, more = detector.step(state, [Tick(last + 60 * S)])
        out += more
    return out


def blamed(findings: Sequence[Finding]) -> set[int]:
    """Ranks that a page or a ticket names."""
    return {
        f.subject.rank for f in findings if f.state == "opened" and f.severity != "info" and f.subject.rank is not None
    }
