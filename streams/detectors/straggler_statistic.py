"""The statistics of slow ranks: leave-one-out ratio, robust noise, window test, level shift."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import NormalDist

from streams.detectors.straggler_limits import StragglerLimits

MAD_TO_SIGMA = 1.4826
"""Standard deviation over median absolute deviation, of a normal distribution."""
MEDIAN_ERROR = 1.2533
"""sqrt(pi / 2): the standard error of a median over that of a mean."""


@dataclass(frozen=True, slots=True)
class Slow:
    """A window that passed the test. `mu`, `sigma`: natural logarithms."""

    window: int
    mu: float
    sigma: float

    @property
    def factor(self) -> float:
        """Times slower than the peers."""
        return math.exp(self.mu)


def median_sorted(values: Sequence[float]) -> float:
    """The median of a sorted, not empty sequence."""
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def median(values: Sequence[float]) -> float:
    """The median of a not empty sequence."""
    return median_sorted(sorted(values))


def sigma_of(values: Sequence[float], floor: float) -> float:
    """Robust noise: scaled median absolute deviation, at least `floor`."""
    if not values:
        return floor
    middle = median(values)
    return max(floor, MAD_TO_SIGMA * median([abs(v - middle) for v in values]))


def jitter(series: Iterable[Sequence[float]]) -> tuple[float, int]:
    """Noise of series that stand at levels of their own, from what lies between successive values; and how many told.

    A series that is slow all the time adds nothing to it, one that jumps about does.
    """
    apart = [abs(b - a) for values in series for a, b in pairwise(values)]
    return (MAD_TO_SIGMA * median(apart) / math.sqrt(2), len(apart)) if apart else (0.0, 0)


def ratios_to_others(own: Mapping[int, float]) -> dict[int, float]:
    """Rank -> ln(own / median of the others). Two members at least; values above zero.

    Leaving the rank itself out matters: in a group of two it would dilute its own excess to half.
    """
    order = sorted(own, key=own.__getitem__)
    values = [own[rank] for rank in order]
    others = len(values) - 1
    half = others // 2
    out: dict[int, float] = {}
    for i, rank in enumerate(order):
        high = values[half] if half < i else values[half + 1]
        if others % 2:
            middle = high
        else:
            low = values[half - 1] if half - 1 < i else values[half]
            middle = (low + high) / 2
        out[rank] = math.log(own[rank] / middle)
    return out


def certainty_for(limits: StragglerLimits, ranks: int) -> float:
    """Standard errors that the clipped mean of one of so many ranks must stand above its peers."""
    return math.sqrt(limits.certainty**2 + 2 * math.log(max(1.0, ranks / limits.certain_ranks)))


@cache
def _each(certainty: float, n: int) -> float:
    """Standard deviations that each of `n` values must reach, to be together as unlikely as one of `certainty`."""
    return -NormalDist().inv_cdf(NormalDist().cdf(-certainty) ** (1 / n))


def slow_window(
    limits: StragglerLimits, series: Sequence[float], noise: Callable[[int], float], ranks: int = 1
) -> Slow | None:
    """The shortest window at the end of a rank's ratios that shows a lasting slow-down.

    `noise(n)`: the group's noise from before the last n steps; asked for only when the effect is there. `ranks`: how
    many are judged beside this one.
    """
    effect = math.log(limits.effect)
    recent = list(series[-max(limits.windows) :])
    for n in limits.windows:
        if len(recent) < n:
            return None
        window = recent[-n:]
        if sum(1 for x in window if x > effect / 2) < limits.share_of(n) * n:
            continue
        mu = min(window) if n < 5 else median(window)
        if mu < effect:
            continue
        sigma = noise(n)
        if mu * math.sqrt(n) / (MEDIAN_ERROR * sigma) < limits.z:
            continue
        certainty = certainty_for(limits, ranks)
        if n < 5:
            sure = mu >= _each(certainty, n) * sigma
        else:
            most = limits.clip * sigma
            sure = sum(max(-most, min(most, x)) for x in window) / n * math.sqrt(n) >= certainty * sigma
        if sure:
            return Slow(n, mu, sigma)
    return None


@dataclass(frozen=True, slots=True)
class Shift:
    """A series that left its own past. `base`: where it stood, natural logarithm."""

    mu: float
    base: float


def level_shift(
    limits: StragglerLimits, series: Sequence[float], beside: Sequence[Sequence[float]] = ()
) -> Shift | None:
    """Has the end of a series of logarithms risen above its own past, for good?

    `beside`: series of its peers, whose last steps tell the noise of now better than its own few.
    """
    n = limits.shift_steps
    past = list(series[-(n + limits.base_steps) : -n])
    if len(past) < limits.base_least:
        return None
    effect = math.log(limits.effect)
    base = median(past)
    window = [y - base for y in series[-n:]]
    mu = median(window)
    if mu < effect or sum(1 for y in window if y > effect / 2) < limits.share * n:
        return None
    sigma = risen_noise(limits, sigma_of(past, limits.noise_floor), [window, *(other[-n:] for other in beside)])
    return Shift(mu, base) if mu * math.sqrt(n) / (MEDIAN_ERROR * sigma) >= limits.z else None


def risen_noise(limits: StragglerLimits, before: float, window: Iterable[Sequence[float]], least: int = 1) -> float:
    """The noise before a window, or that in it where it has clearly grown: uneven data that sets in is no fault."""
    now, count = jitter(window)
    return now if count >= least and now > limits.noise_growth * before else before


def risen(limits: StragglerLimits, series: Sequence[float]) -> Shift | None:
    """Has the end of a series of logarithms risen above its own past, over the shortest window that shows it?"""
    for n in limits.comm_windows:
        past = list(series[-(n + limits.base_steps) : -n])
        if len(past) < limits.comm_least:
            return None
        base = median(past)
        sigma = sigma_of(past, limits.noise_floor) * (1 + limits.noise_doubt / math.sqrt(len(past)))
        window = [y - base for y in series[-n:]]
        if min(window) >= math.log(limits.effect) and median(window) * math.sqrt(n) >= limits.certainty * sigma:
            return Shift(median(window), base)
    return None


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's; None where one side does not vary."""
    if len(pairs) < 3:
        return None
    mean_x = sum(x for x, _ in pairs) / len(pairs)
    mean_y = sum(y for _, y in pairs) / len(pairs)
    xx = sum((x - mean_x) ** 2 for x, _ in pairs)
    yy = sum((y - mean_y) ** 2 for _, y in pairs)
    if xx <= 0 or yy <= 0:
        return None
    return sum((x - mean_x) * (y - mean_y) for x, y in pairs) / math.sqrt(xx * yy)
