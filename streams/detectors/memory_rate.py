"""How often a GPU has a day of corrected errors, shrunk to its fleet's rate, and what that says of the days ahead."""

import math
from dataclasses import dataclass

Z95 = 1.645
"""Of the normal distribution: 5 % lie beyond it on either side."""
MOST_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class Rate:
    """A Gamma belief of a daily rate: `shape` things in `days` days, prior and observed together."""

    shape: float
    days: float

    @property
    def per_day(self) -> float:
        """The mean."""
        return self.shape / self.days

    def bounds(self) -> tuple[float, float]:
        """5 % and 95 % points of the rate a day (Wilson and Hilferty 1931; good from a shape of about 1 on)."""
        spread = 1.0 / (3.0 * math.sqrt(self.shape))
        middle = 1.0 - 1.0 / (9.0 * self.shape)
        low, high = (max(0.0, middle + z * spread) ** 3 * self.shape / self.days for z in (-Z95, Z95))
        return low, high

    def counts(self, ahead_days: float) -> tuple[int, int]:
        """5 % and 95 % points of the number in the days ahead: Poisson with this rate, so negative binomial."""
        share = ahead_days / (self.days + ahead_days)
        chance = (1.0 - share) ** self.shape
        total, low, number = chance, -1, 0
        while number < MOST_COUNTED:
            if low < 0 and total >= 0.05:
                low = number
            if total >= 0.95:
                return low, number
            chance *= (self.shape + number) / (number + 1) * share
            number += 1
            total += chance
        return max(low, 0), MOST_COUNTED


def shrunk(count: float, days: float, fleet_per_day: float, prior_days: float) -> Rate:
    """The posterior of a Gamma prior that is worth `prior_days` days at the fleet's rate."""
    return Rate(fleet_per_day * prior_days + count, prior_days + days)


def fleet_rate(event_days: float, gpu_days: float, published: float) -> float:
    """The fleet's own rate; the published one counts as its first event-day, so none seen does not mean none ever."""
    return (1.0 + event_days) / (1.0 / published + gpu_days)
