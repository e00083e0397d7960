"""One quantity of a peer group, judged step by step: ratios to the others, their noise, who was highest."""

import math
from array import array
from collections import deque
from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field

from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_statistic import MAD_TO_SIGMA, median, ratios_to_others, risen_noise, sigma_of


@dataclass(slots=True)
class Track:
    """ln(own / median of the others) of each rank. Ratios of all ranks are kept; the noise is from some of them."""

    size: int
    """Ranks of the group."""
    sampled: Sequence[int]
    """The ranks whose ratios tell the noise: all of a small group, as many of a large one as give a sure value."""
    last: dict[int, float] = field(default_factory=dict)
    """The ratios of the last judged step."""
    samples: deque[list[tuple[int, float]]] = field(default_factory=deque)
    tops: deque[tuple[int, float]] = field(default_factory=deque)
    """The highest rank of each of the last steps, and its ratio."""
    ratios: dict[int, MutableSequence[float]] = field(default_factory=dict)
    _noises: dict[int, float] = field(default_factory=dict)

    def remember(self, limits: StragglerLimits, values: Mapping[int, float]) -> None:
        """Add one judged step: rank -> seconds (or seconds by unit of work), two ranks at least."""
        ratios = ratios_to_others(values)
        longest = max(limits.windows)
        self._noises.clear()
        self.last = ratios
        self.samples.append([(rank, ratios[rank]) for rank in self.sampled if rank in ratios])
        if len(self.samples) > longest + limits.noise_steps:
            self.samples.popleft()
        top = max(ratios, key=ratios.__getitem__)
        self.tops.append((top, ratios[top]))
        if len(self.tops) > limits.settled_steps:
            self.tops.popleft()
        for rank, x in ratios.items():
            extend(self.ratios, rank, x, longest)

    def noise(self, limits: StragglerLimits, rank: int, window: int) -> float:
        """The group's noise before the last `window` steps, so that the slow steps do not hide themselves.

        Right after a start there is no before: then the other ranks' ratios of the window count too, and
        a few values are trusted less.
        """
        known = self._noises.get(window)
        if known is not None:
            return known
        steps = list(self.samples)
        if self.size == 2:
            return self._pair_noise(limits, steps, window)
        before = [x for step in steps[-(window + limits.noise_steps) : -window] for _, x in step]
        for_all = True
        if len(before) < limits.noise_values:
            before += [x for step in steps[-window:] for r, x in step if r != rank]
            for_all = False
        independent = max(1.0, len(before) * (1 - 1 / self.size))
        doubt = 1 + limits.noise_doubt / math.sqrt(independent)
        sigma = max(limits.noise_floor, sigma_of(before, 0.0) * doubt)
        if for_all:
            window_of = (self.ratios[r][-window:] for r in self.sampled if r in self.ratios)
            sigma = risen_noise(limits, sigma, window_of, limits.noise_values)
            self._noises[window] = sigma
        return sigma

    def _pair_noise(self, limits: StragglerLimits, steps: Sequence[Sequence[tuple[int, float]]], window: int) -> float:
        """Of two, each about its own median: apart from each other they are when one is slow, and that is no noise."""
        parts = [steps[-(window + limits.noise_steps) : -window]]
        if 2 * len(parts[0]) < limits.pair_values:
            parts.append(steps[-window:])
        strays: list[float] = []
        for part in parts:
            for rank in self.sampled:
                mine = [x for step in part for r, x in step if r == rank]
                if mine:
                    middle = median(mine)
                    strays += [x - middle for x in mine]
        independent = max(1.0, len(strays) / 2 - len(parts))
        doubt = 1 + limits.noise_doubt / math.sqrt(independent)
        sigma = max(limits.noise_floor, MAD_TO_SIGMA * median([abs(x) for x in strays]) * doubt)
        self._noises[window] = sigma
        return sigma

    def spread(self, limits: StragglerLimits) -> float:
        """The noise of the last steps as it is, natural logarithm."""
        steps = list(self.samples)[-limits.settled_steps :]
        return sigma_of([x for step in steps for _, x in step], limits.noise_floor)


def extend(series: dict[int, MutableSequence[float]], rank: int, value: float, longest: int) -> None:
    """Add to a rank's series, of which the last `longest` values at least are kept."""
    values = series.get(rank)
    if values is None:
        values = series[rank] = array("d")
    values.append(value)
    if len(values) > 2 * longest:
        del values[:-longest]
