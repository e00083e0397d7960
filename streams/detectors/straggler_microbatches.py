"""Forward and backward times of the same microbatches: with sequences of many lengths both are long or both are short.

A GPU that is slow, or a host that stutters, does not choose by microbatch, so one of the two times is long alone.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_statistic import median

_LEAST_RANKS = 4


class Pairs(NamedTuple):
    """One rank's microbatches in one step, each over the mean of the step: so a clock that falls between two steps is
    no likeness of forward and backward. Sums of squares and of products."""

    microbatches: int
    forward: float
    backward: float
    both: float


@dataclass(frozen=True, slots=True)
class Likeness:
    """What the ranks of a group say together, each over its last steps; medians over the ranks."""

    correlation: float
    """Pearson's, of forward with backward times."""
    spread: float
    """Standard deviation of a microbatch's forward time over its mean."""
    ranks: int


def pairs_of(forward: Sequence[float], backward: Sequence[float]) -> Pairs | None:
    """None for a single microbatch, for columns that do not belong together and for times that are none."""
    count = len(forward)
    if count < 2 or len(backward) != count:
        return None
    if not (0 < min(forward) <= max(forward) < math.inf and 0 < min(backward) <= max(backward) < math.inf):
        return None
    f_mean, b_mean = sum(forward) / count, sum(backward) / count
    fs = [f / f_mean - 1 for f in forward]
    bs = [b / b_mean - 1 for b in backward]
    both = sum(f * b for f, b in zip(fs, bs, strict=True))
    return Pairs(count, sum(f * f for f in fs), sum(b * b for b in bs), both)


def likeness(limits: StragglerLimits, steps: Iterable[Mapping[int, Pairs]]) -> Likeness | None:
    """None where too few ranks tell enough microbatches, or these do not vary."""
    told: dict[int, list[Pairs]] = {}
    for step in steps:
        for rank, pairs in step.items():
            told.setdefault(rank, []).append(pairs)
    correlations, spreads = [], []
    for of_rank in told.values():
        count, forward, backward, both = map(sum, zip(*of_rank, strict=True))
        if count >= limits.microbatches and forward > 0 and backward > 0:
            correlations.append(both / math.sqrt(forward * backward))
            spreads.append(math.sqrt(forward / count))
    if len(correlations) < _LEAST_RANKS:
        return None
    return Likeness(median(correlations), median(spreads), len(correlations))
