"""What a slow part costs its job: step time with and without it, from the last judged steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from streams.contract import Evidence
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import median
from streams.detectors.straggler_steps import Entry

_SAMPLED_PEERS = 64
Seconds = Callable[[Entry], float | None]


@dataclass(frozen=True, slots=True)
class Cost:
    """S = T / (T - (C_slow - C_peers)): exact for pure data parallelism, an upper bound under a pipeline."""

    step_s: float
    slowdown: float
    gpu_hours_lost_per_hour: float
    """World size x (1 - 1/S)."""
    bound: bool

    def evidence(self) -> list[Evidence]:
        """In words."""
        note = ", an upper bound under a pipeline" if self.bound else ", estimate"
        return [
            Evidence(what="step time of the job, median", value=self.step_s, unit="s"),
            Evidence(what=f"slow-down of the whole job{note}", value=self.slowdown, unit="ratio"),
            Evidence(what=f"GPU-hours lost per hour{note}", value=self.gpu_hours_lost_per_hour, unit="GPU-h/h"),
        ]


def compute_of(entry: Entry) -> float | None:
    """Own compute, seconds."""
    return entry.compute_s


def wait_of(entry: Entry) -> float | None:
    """Waiting for other ranks, seconds."""
    return entry.wait_s


def step_of(entry: Entry) -> float | None:
    """The whole step, seconds."""
    return entry.step_s


def data_of(entry: Entry) -> float | None:
    """Waiting for the next batch, seconds."""
    return entry.data_s


def cpu_of(entry: Entry) -> float | None:
    """The host's own work, seconds."""
    return entry.cpu_s


def host_of(entry: Entry) -> float | None:
    """What the host spends on a step, seconds: waiting for data, and its own work where that is told."""
    if entry.data_s is None and entry.cpu_s is None:
        return None
    return (0.0 if entry.data_s is None else entry.data_s) + (0.0 if entry.cpu_s is None else entry.cpu_s)


def others(rank: int, ranks: Sequence[int]) -> list[int]:
    """Some of the peers of a rank."""
    return list(islice((r for r in ranks[:: -(-len(ranks) // _SAMPLED_PEERS)] if r != rank), _SAMPLED_PEERS))


def typical(state: StragglerState, ranks: Sequence[int], what: Seconds, steps: int = 5) -> float | None:
    """The median over these ranks and the last judged steps; None where nobody told it."""
    values = [
        value
        for step in list(state.recent)[-steps:]
        for rank in ranks
        if (entry := step.entries.get(rank)) is not None and (value := what(entry)) is not None
    ]
    return median(values) if values else None


def excess(state: StragglerState, rank: int, ranks: Sequence[int], what: Seconds, steps: int = 5) -> float | None:
    """Seconds by which a rank's part of the step is longer than its peers'."""
    mine = typical(state, [rank], what, steps)
    theirs = typical(state, others(rank, ranks), what, steps)
    return None if mine is None or theirs is None else mine - theirs


def cost_of(state: StragglerState, ranks: Sequence[int], further_s: float | None, steps: int = 5) -> Cost | None:
    """What it costs that steps are `further_s` longer; None where that cannot be said."""
    step_s = typical(state, others(-1, ranks), step_of, steps)
    if step_s is None or further_s is None or not 0 < further_s < step_s:
        return None
    slowdown = step_s / (step_s - further_s)
    return Cost(step_s, slowdown, lost_per_hour(state.world, slowdown), state.pipelined)


def lost_per_hour(world: int, slowdown: float) -> float:
    """GPU-hours that a job of `world` GPUs loses in an hour when its steps take `slowdown` times as long."""
    return world * (1 - 1 / slowdown)
