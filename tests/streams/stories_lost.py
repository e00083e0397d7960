"""GPUs that vanish from their node's page, in stretches of ten-second scrapes."""

from collections.abc import Sequence

from tests.streams.scrapes import gpus, only, scrape
from tests.streams.story_form import Item, Story, Stretch


def lost(stretches: Sequence[Stretch]) -> list[Item]:
    out: list[Item] = []
    for word, length in stretches:
        for _ in range(length):
            parts = [g for g in gpus(8) if word != "gone" or g.index != 3]
            readings: list[float | None] = [0.9] * len(parts)
            if word == "dead":
                readings = only(3, None, 0.9)
            elif word == "unreadable":
                readings = [None] * len(parts)
            out.append(scrape(10.0 * len(out), {"100": readings, "1002": readings}, parts=parts))
    return out


def incomplete(stretches: Sequence[Stretch]) -> list[Item]:
    """Four GPUs. `seven`: three more, and the eighth never comes. `eight`: all of them."""
    out: list[Item] = []
    for word, length in stretches:
        for _ in range(length):
            parts = gpus({"seven": 7, "eight": 8}.get(word, 4))
            readings: list[float | None] = [None if word == "unreadable" else 0.9] * len(parts)
            out.append(scrape(30.0 * len(out), {"100": readings, "1002": readings}, parts=parts))
    return out


COUNT_STORY = Story(
    detector="gpu_lost",
    words=("calm", "seven", "eight", "unreadable"),
    tell=incomplete,
    least=12,
    most=16,
)
LOST_STORY = Story(detector="gpu_lost", words=("calm", "gone", "dead", "unreadable"), tell=lost, least=9, most=16)
