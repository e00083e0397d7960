"""Lines of the driver whose codes have words of their own; a GPU that waits for work."""

import random
from collections.abc import Sequence

from collectors.contract.kernel import KernelEvent
from tests.streams.scrapes import SECOND, T0, only, scrape
from tests.streams.stories_counter_straggler import node
from tests.streams.story_form import Item, Story, Stretch

CODES = (64, 94, 95, 140, 171, 172)
"""XIDs of memory, one a stretch."""


def lines(stretches: Sequence[Stretch]) -> list[Item]:
    """A scrape every ten seconds; the code a second after the first of a stretch. `reset`: the driver begins again."""
    out: list[Item] = []
    scrapes, base = 0, 1e9
    for word, length in stretches:
        for tick in range(length):
            at = 10.0 * scrapes
            scrapes += 1
            if word == "reset" and tick == 0:
                base = -at
            out.append(scrape(at, {"156": base + at + 1.0, "100": 1900.0, "1002": 0.9}))
            if tick == 0 and word.isdigit():
                out.append(_xid(at + 1, int(word)))
            elif tick == 0 and word == "switch":
                out.append(_sxid(at + 1))
    return out


def _xid(at_s: float, code: int, text: str = "of memory") -> KernelEvent:
    raw = f"NVRM: Xid (PCI:0000:1d:00): {code}, pid=17, name=python3, {text}"
    return KernelEvent(
        node="n1", ts_us=T0 + int(at_s * SECOND), kind="xid", code=code, pci="0000:1d:00", detail=text, raw=raw
    )


def _sxid(at_s: float) -> KernelEvent:
    text = "Fatal, Link 30 LTSSM Fault Up"
    raw = f"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, {text}"
    return KernelEvent(
        node="n1", ts_us=T0 + int(at_s * SECOND), kind="sxid", code=20034, pci="0000:05:00", detail=text, raw=raw
    )


WISHES = {
    "asks_reset": (1, "GPU Reset Required"),
    "asks_reboot": (2, "Node Reboot Required"),
    "asks_drain": (3, "Drain P2P"),
    "asks_for_nothing_told": (1, "GPU Reset Required"),
}
"""What XID 154 asks for, by the word of its stretch."""


def recoveries(stretches: Sequence[Stretch]) -> list[Item]:
    """A fault, and a second later what the driver asks for, which the GPU's own reading shows until it is reset.
    `takes_back`: the driver asks for nothing any more; `asks_for_nothing_told`: the fault itself has no line."""
    out: list[Item] = []
    scrapes, base, asked, words = 0, 1e9, 0, "None"
    for word, length in stretches:
        for tick in range(length):
            at = 10.0 * scrapes
            scrapes += 1
            if tick == 0 and word == "reset":
                base, asked, words = -at, 0, "None"
            cells: dict[str, Sequence[float | None] | float | None] = {
                "156": base + at + 1.0,
                "100": 1900.0,
                "1002": 0.9,
                "1523": only(3, float(asked)),
            }
            out.append(scrape(at, cells))
            if tick == 0 and (word in WISHES or word == "takes_back"):
                was, before = asked, words
                asked, words = WISHES.get(word, (0, "None"))
                if asked and word != "asks_for_nothing_told":
                    out.append(_xid(at + 1, 119))
                text = f"GPU recovery action changed from {was:#x} ({before}) to {asked:#x} ({words})"
                out.append(_xid(at + 2, 154, text))
    return out


def starved(stretches: Sequence[Stretch]) -> list[Item]:
    """A GPU that has half of its work, by its counters."""
    rng, out = random.Random(3), list[Item]()
    for word, length in stretches:
        for _ in range(length):
            columns = node(rng, starved=3 if word == "starved" else None)
            out.append(scrape(10.0 * len(out), columns))
    return out


LINE_STORIES = (
    Story(detector="xid", words=("calm", *map(str, CODES), "switch", "reset"), tell=lines),
    Story(detector="xid", words=("calm", *WISHES, "takes_back", "reset"), tell=recoveries),
    Story(detector="memory", words=("calm", *map(str, CODES), "reset"), tell=lines),
    Story(
        detector="counter_straggler", words=("calm", "starved"), tell=starved, least=44, most=56, back=300, examples=5
    ),
)
