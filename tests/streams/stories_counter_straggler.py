"""A GPU whose counters stand apart, in stretches."""

import random
from collections.abc import Sequence

from tests.streams.scrapes import scrape
from tests.streams.story_form import Item, Story, Stretch

COUNT = 8


Columns = dict[str, list[float | None]]


def node(rng: random.Random, slow: int | None = None, starved: int | None = None, sigma: float = 0.005) -> Columns:
    """One sample of GPUs that work on one job in step; a slow one runs at 91 % of the clock and waits for nobody."""

    def column(typical: float, of_slow: float, of_starved: float) -> list[float | None]:
        factors = [of_slow if i == slow else of_starved if i == starved else 1.0 for i in range(COUNT)]
        return [round(typical * f * rng.gauss(1.0, sigma), 4) for f in factors]

    return {
        "100": column(1900.0, 0.91, 1.0),
        "155": column(600.0, 0.9, 0.6),
        "150": column(60.0, 0.97, 0.8),
        "1002": column(0.85, 1.09, 0.5),
        "1004": column(0.5, 1.09, 0.5),
        "1005": column(0.4, 1.0, 0.5),
        "112": [0.0] * COUNT,
    }


def _all(columns: Columns, value: float | None) -> Columns:
    return {f: [value] * COUNT for f in columns}


def counter_straggler(stretches: Sequence[Stretch]) -> list[Item]:
    """A scrape every ten seconds."""
    rng, out = random.Random(3), list[Item]()
    for word, length in stretches:
        for _ in range(length):
            columns = node(rng, slow=3 if word == "slow" else None)
            if word == "idle":
                columns = _all(columns, 0.0) | {"100": [345.0] * COUNT}
            if word == "unreadable":
                columns = _all(columns, None)
            out.append(scrape(10.0 * len(out), columns))
    return out


COUNTER_STRAGGLER_STORY = Story(
    detector="counter_straggler",
    words=("calm", "slow", "idle", "unreadable"),
    tell=counter_straggler,
    least=44,
    most=56,
    back=300,
    examples=8,
)
