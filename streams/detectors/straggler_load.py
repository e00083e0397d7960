"""What a rank had to compute: with sequences of many lengths, more work is not slowness."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from streams.detectors.straggler_statistic import median

TRIM = 0.9
"""Share of the samples, best first, that the second fit keeps: a slow rank must not bend the model."""
GAIN = 0.8
"""A richer model must bring the spread below this share of the simpler one's."""
EVEN = 0.001
"""Token counts that differ by less are the same."""


class Sample(NamedTuple):
    """Own compute time of one rank in one step and what it worked on."""

    compute_s: float
    tokens: int | None
    sum_sq_len: int | None


@dataclass(frozen=True, slots=True)
class Load:
    """Relative work = `alpha` * tokens + `beta` * sum of squared lengths; both zero: all ranks work alike.

    Attention grows with the square of a sequence's length, the rest with its length (ResiHP).
    """

    alpha: float = 0.0
    beta: float = 0.0

    def of(self, tokens: int | None, sum_sq_len: int | None) -> float | None:
        """The work of one step; None: not known, or nothing to do."""
        if self.alpha == 0 and self.beta == 0:
            return 1.0
        if (self.alpha > 0 and tokens is None) or (self.beta > 0 and sum_sq_len is None):
            return None
        work = self.alpha * (tokens or 0) + self.beta * (sum_sq_len or 0)
        return work if work > 0 else None


EQUAL = Load()


def choose_load(peers: Iterable[Sequence[Sample]], current: Load = EQUAL) -> Load:
    """The simplest model that explains the spread; the current one unless another is clearly better.

    `peers`: the ranks of one group in one step, each.

    Tokens that do not explain the spread (padded batches) are left out: dividing by them would add noise.
    """
    groups = [g for g in peers if len(g) > 1 and all(s.tokens is not None and s.tokens > 0 for s in g)]
    if not any(map(differs, groups)):
        return current
    best, spread = current, _spread(current, groups)
    models = [EQUAL, Load(alpha=1.0)]
    if all(s.sum_sq_len is not None for group in groups for s in group):
        models += _fits(groups)
    for model in models:
        left = _spread(model, groups)
        if left < GAIN * spread:
            best, spread = model, left
    return best


def differs(group: Sequence[Sample]) -> bool:
    """Had the peers, all of whom tell it, unequal work?"""
    if not all(s.tokens is not None and s.tokens > 0 for s in group):
        return False
    tokens = [s.tokens or 0 for s in group]
    squares = [s.sum_sq_len or 0 for s in group]
    return any(max(column) > min(column) * (1 + EVEN) for column in (tokens, squares))


def _residuals(load: Load, group: Sequence[Sample]) -> list[float]:
    rates = [s.compute_s / (load.of(s.tokens, s.sum_sq_len) or s.compute_s) for s in group]
    middle = median(rates)
    return [abs(rate / middle - 1) for rate in rates]


def _spread(load: Load, groups: Sequence[Sequence[Sample]]) -> float:
    return median([r for group in groups for r in _residuals(load, group)])


def _fits(groups: Sequence[Sequence[Sample]]) -> list[Load]:
    """Least squares on compute time over the group's median, so that stages of any depth count alike."""
    rows = []
    for group in groups:
        middle = median([s.compute_s for s in group])
        rows += [(s.compute_s / middle, float(s.tokens or 0), float(s.sum_sq_len or 0)) for s in group]
    first = _least_squares(rows)
    if first is None:
        return []
    rows.sort(key=lambda row: abs(row[0] - first.alpha * row[1] - first.beta * row[2]))
    second = _least_squares(rows[: max(2, int(len(rows) * TRIM))])
    return [first] if second is None else [first, second]


def _least_squares(rows: Sequence[tuple[float, float, float]]) -> Load | None:
    tt = sum(t * t for _, t, _ in rows)
    qq = sum(q * q for _, _, q in rows)
    tq = sum(t * q for _, t, q in rows)
    ct = sum(c * t for c, t, _ in rows)
    cq = sum(c * q for c, _, q in rows)
    scale = tt * qq - tq * tq
    if scale <= 1e-9 * tt * qq:
        return None
    alpha, beta = (ct * qq - cq * tq) / scale, (cq * tt - ct * tq) / scale
    if alpha <= 0 or beta <= 0:
        return None
    return Load(alpha, beta)
