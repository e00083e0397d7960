"""Forward and backward times of each microbatch of a step, for the job that tells them: one step in ten."""

import math
import random
from collections.abc import Iterable
from statistics import pstdev

from infra.fleet.step import Step

COUNT = 8
EVERY = 10
FORWARD = 1 / 3
"""Of a microbatch's compute: the backward pass takes twice as long."""
NOISE = 0.01
"""Of each pass by itself (its logarithm)."""
LOAD_IN_SQUARES = 3.0
"""How much more than the load the sum of squared lengths varies (`Job.step`)."""


def microbatch_times(step: Step, rows: Iterable[int]) -> tuple[list[list[float] | None], list[list[float] | None]]:
    """Of these rows; two empty columns for a step that is not told of.

    Ranks of one replica work on the same microbatches. Loads that differ between replicas are sums of microbatches
    that differ sqrt(COUNT) times as much.
    """
    if step.number % EVERY != EVERY // 2:
        return [], []
    squares = {member.dp: step.sum_sq_len[row] for row, member in enumerate(step.members)}
    mean = sum(squares.values()) / len(squares)
    spread = pstdev(value / mean for value in squares.values()) / LOAD_IN_SQUARES * math.sqrt(COUNT)
    forward: list[list[float] | None] = []
    backward: list[list[float] | None] = []
    for row in rows:
        member = step.members[row]
        lengths = random.Random(f"{step.job}/{step.attempt}/{step.number}/{member.dp}")
        loads = [math.exp(lengths.gauss(0.0, spread)) for _ in range(COUNT)]
        own = random.Random(f"{step.job}/{step.attempt}/{step.number}/rank {member.rank}")
        whole_s = step.compute_s[row] / sum(loads)
        forward.append([_pass(whole_s * load * FORWARD, own) for load in loads])
        backward.append([_pass(whole_s * load * (1 - FORWARD), own) for load in loads])
    return forward, backward


def _pass(seconds: float, own: random.Random) -> float:
    return round(seconds * math.exp(own.gauss(0.0, NOISE)), 6)
