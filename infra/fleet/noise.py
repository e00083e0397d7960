"""Small random things: one seeded stream per part, so that a further fault changes no other part's noise."""

import math
import random


def stream(seed: int, *name: object) -> random.Random:
    """The random stream of one part."""
    return random.Random("/".join(map(str, (seed, *name))))


def poisson(rng: random.Random, mean: float) -> int:
    """A Poisson number; above 30 by the normal approximation."""
    if mean <= 0.0:
        return 0
    if mean > 30.0:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, k, p = math.exp(-mean), 0, rng.random()
    while p > limit:
        k += 1
        p *= rng.random()
    return k


class Drift:
    """A slow wander around 0 with the given sigma: first-order autoregression with time constant `tau_s`."""

    __slots__ = ("_dt_s", "_keep", "_push", "_rng", "_sigma", "_tau_s", "value")

    def __init__(self, rng: random.Random, sigma: float, tau_s: float) -> None:
        self._rng = rng
        self._sigma = sigma
        self._tau_s = tau_s
        self._dt_s = self._keep = self._push = 0.0
        self.value = rng.gauss(0.0, sigma) if sigma > 0.0 else 0.0

    def step(self, dt_s: float) -> float:
        """The value `dt_s` later."""
        if dt_s != self._dt_s:
            self._dt_s, self._keep = dt_s, math.exp(-dt_s / self._tau_s)
            self._push = self._sigma * math.sqrt(1.0 - self._keep * self._keep)
        self.value = self.value * self._keep + self._rng.gauss(0.0, self._push)
        return self.value
