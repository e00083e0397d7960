"""Links that err, run narrow or go down, in stretches."""

from collections.abc import Sequence

from msgspec import structs

from collectors.contract.gpu import Entities
from tests.streams.scrapes import Cell, gpus, only, scrape
from tests.streams.story_form import Item, Story, Stretch

LINKS = 18


def nvlinks(down: Sequence[tuple[int, int]] = (), count: int = 8, unreadable: bool = False) -> Entities:
    """`LINKS` links a GPU; `down`: (GPU, link)."""
    places = [(g, link) for g in range(count) for link in range(LINKS)]
    return Entities(
        kind="nvlink",
        ids=[str(link) for _, link in places],
        parents=[f"GPU-{g}" for g, _ in places],
        columns={"1508": [None if unreadable else float(place not in down) for place in places]},
    )


def links(stretches: Sequence[Stretch]) -> list[Item]:
    """A scrape every ten seconds."""
    out: list[Item] = []
    replays, recoveries = 0.0, 0.0
    for word, length in stretches:
        for _ in range(length):
            replays += 500.0 if word == "replaying" else 0.0
            recoveries += 3.0 if word == "retraining" else 0.0
            gone = word == "unreadable"
            columns: dict[str, Sequence[Cell] | Cell] = {
                "202": only(3, replays),
                "439": only(5, recoveries),
                "235": 5.0,
                "236": 16.0,
                "237": 1.0 if word == "idle" else 5.0,
                "238": only(2, 4.0 if word == "narrow" else 16.0, 16.0),
                "1002": 0.0 if word == "idle" else 0.9,
            }
            made = scrape(10.0 * len(out), {f: None if gone else v for f, v in columns.items()}, parts=gpus(8))
            down = [(6, 4)] if word == "down" else []
            out.append(structs.replace(made, entities=[nvlinks(down, unreadable=gone)]))
    return out


LINK_STORY = Story(
    detector="gpu_link",
    words=("calm", "replaying", "retraining", "narrow", "down", "idle", "unreadable"),
    tell=links,
    least=8,
    most=16,
    back=120,
    examples=15,
)
