"""A job whose configuration, batches and data change while it runs."""

import math
import random
from collections.abc import Sequence

from tests.streams.steps import Job, noisy
from tests.streams.story_form import Item, Story, Stretch

PACE = {"regressed": 1.3, "reconfigured": 1.2, "doubled": 2.0}


def changing_job(stretches: Sequence[Stretch]) -> list[Item]:
    """`reconfigured`: slower, with another configuration. `doubled`: twice the batch. `uneven`: unequal sequences."""
    words = [word for word, length in stretches for _ in range(length)]
    plain = noisy(7, 1.0, 0.01)

    def times(rank: int, step: int) -> tuple[list[float], list[float]]:
        draw = random.Random(rank * 1_009 + step)
        spread = 0.4 if words[step] == "uneven" else 0.01
        lengths = [math.exp(draw.gauss(0.0, spread)) / 8 for _ in range(8)]
        return [length / 3 for length in lengths], [2 * length / 3 for length in lengths]

    job = Job(
        dp=16,
        per_node=8,
        compute=lambda r, s: sum(map(sum, times(r, s))) * plain(r, s) * PACE.get(words[s], 1.0),
        microbatches=times,
        config=lambda s: "b2" if words[s] == "reconfigured" else "a1",
        batch=lambda s: 1024 if words[s] == "doubled" else 512,
        steps=len(words),
        step_s=1.0,
    )
    return [job.placed(), *job.reports()]


SETTING_STORY = Story(
    detector="straggler",
    words=("calm", "regressed", "reconfigured", "doubled", "uneven"),
    tell=changing_job,
    least=30,
    most=45,
    back=300,
    examples=4,
)
