"""Made-up histories for every detector: stretches of health and of faults, in the order of their times.

A stretch is a word and a length; every word of a story starts with `calm`. Each also has the same messages
with nothing readable in them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from collectors.contract.beat import Beat
from collectors.contract.fabric import Port, PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.job import CollectiveWindow, StepReport
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from streams.detector import Detector, Tick
from tests.streams.scrapes import SECOND, T0, gpus, only, scrape
from tests.streams.steps import Job, noisy
from tests.streams.stories_collectives import COLLECTIVE_STORIES
from tests.streams.stories_counter_straggler import COUNTER_STRAGGLER_STORY
from tests.streams.stories_fabric import FABRIC_STORIES
from tests.streams.stories_hangs import HANG_STORY
from tests.streams.stories_lines import LINE_STORIES
from tests.streams.stories_links import LINK_STORY
from tests.streams.stories_lost import COUNT_STORY, LOST_STORY
from tests.streams.stories_memory import MEMORY_STORY, WORN_STORY
from tests.streams.stories_settings import SETTING_STORY
from tests.streams.stories_steps import STEP_STORIES
from tests.streams.stories_words import WORD_STORIES
from tests.streams.story_form import Item, Story, Stretch


def blank(message: Message) -> Message:
    """The same message, nothing of it readable."""
    if isinstance(message, GpuScrape):
        entities = [structs.replace(e, columns=_nothing(e.columns)) for e in message.entities]
        return structs.replace(message, columns=_nothing(message.columns), entities=entities)
    if isinstance(message, PortScrape):
        return structs.replace(message, columns=_nothing(message.columns))
    if isinstance(message, StepReport):
        unknown = [None] * len(message.rank)
        return structs.replace(
            message,
            **dict.fromkeys(("compute_s", "step_s", "wait_s", "global_batch_size", "microbatch_forward_s"), unknown),
            config_hash=None,
        )
    if isinstance(message, CollectiveWindow):
        nothing = [None] * len(message.rank)
        return structs.replace(message, seq=nothing, exec_us=nothing, busbw_gbs=nothing)
    return message


def _nothing(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {field_id: [None] * len(column) for field_id, column in columns.items()}


def moved(message: Message, by_us: int) -> Message:
    """The same at another time."""
    return structs.replace(message, ts_us=message.ts_us + by_us)


@dataclass
class Memory:
    """Counters of one GPU as the stretches move them."""

    columns: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("310", "311", "312", "313", "396"), 0.0))

    def tell(self, word: str, tick: int) -> None:
        c = self.columns
        if word == "uncorrected" and tick == 0:
            c["311"] += 1
            c["313"] += 1
            c["396"] = 1
        elif word == "growing":
            c["310"] += 20 + 5 * tick
            c["312"] += 20 + 5 * tick
        elif word == "reset" and tick == 0:
            c["310"] = c["311"] = c["396"] = 0


def memory(stretches: Sequence[Stretch]) -> list[Item]:
    now, out = Memory(), list[Item]()
    for word, length in stretches:
        for tick in range(length):
            now.tell(word, tick)
            cells = {f: None if word == "unreadable" else v for f, v in now.columns.items()}
            out.append(scrape(10.0 * len(out), {f: only(3, v) for f, v in cells.items()}))
    return out


def throttle(stretches: Sequence[Stretch]) -> list[Item]:
    out: list[Item] = []
    forms: dict[str, tuple[Any, Any, Any]] = {
        "calm": (1930.0, 0.0, 0.9),
        "hot": (only(3, 1200.0, 1930.0), only(3, 32.0), 0.9),
        "braked": (960.0, 136.0, 0.9),
        "idle": (345.0, 1.0, 0.0),
        "unreadable": (None, None, None),
    }
    for word, length in stretches:
        clocks, bits, active = forms[word]
        for _ in range(length):
            out.append(scrape(10.0 * len(out), {"100": clocks, "112": bits, "1002": active}))
    return out


def xid(stretches: Sequence[Stretch]) -> list[Item]:
    """A scrape every ten seconds; events one second after the scrape before them."""
    out: list[Item] = []
    scrapes, base, gauge = 0, 1e9, 0.0
    chain = {"program": (13, 13, 45), "memory": (48, 63, 94, 45), "bus": (79, 45)}
    for word, length in stretches:
        for tick in range(length):
            at = 10.0 * scrapes
            scrapes += 1
            if word == "reset" and tick == 0:
                base = -at
            if word == "gauge" and tick == 0:
                gauge = 95.0 if gauge == 62.0 else 62.0
            parts = [g for g in gpus(8) if word != "gone" or g.index != 3]
            last = [gauge if g.index == 3 else 0.0 for g in parts]
            out.append(scrape(at, {"156": base + at + 1.0, "100": 1900.0, "230": last}, parts=parts))
            if tick == 0:
                out += [
                    KernelEvent(
                        node="n1",
                        ts_us=T0 + int((at + 1) * SECOND) + i,
                        kind="xid",
                        code=code,
                        pci="0000:1d:00",
                        raw=f"NVRM: Xid (PCI:0000:1d:00): {code}, line {i}",
                    )
                    for i, code in enumerate(chain.get(word, ()))
                ]
    return out


def straggler(stretches: Sequence[Stretch]) -> list[Item]:
    """`slow`: one rank. `host`: both of its node."""
    words = [word for word, length in stretches for _ in range(length)]
    ranks = {"slow": (5,), "host": (4, 5)}
    factor = noisy(7, 1.0, 0.01, lambda rank, step: 1.5 if rank in ranks.get(words[step], ()) else 1.0)
    job = Job(dp=8, per_node=2, compute=factor, steps=len(words), step_s=1.0)
    return [job.placed(), *job.reports()]


def lossless(stretches: Sequence[Stretch]) -> list[Item]:
    out: list[Item] = []
    drops, sent = 0, 0
    for word, length in stretches:
        for tick in range(length):
            sent += 1000
            drops += 50 if word == "dropping" else 0
            if word == "cleared" and tick == 0:
                drops = sent = 0
            cells: list[int | float | None] = [0, None if word == "unreadable" else drops]
            out.append(
                PortScrape(
                    ts_us=T0 + 60 * SECOND * len(out),
                    device="leaf1",
                    epoch="1",
                    ports=[Port(name=f"eth{i}", speed_gbps=400.0, link_layer="ethernet") for i in range(2)],
                    columns={"queue_drop_packets.3": cells, "queue_tx_packets.3": [sent, sent]},
                )
            )
    return out


def heard(say: Callable[[int], Message]) -> Callable[[Sequence[Stretch]], list[Item]]:
    """A message every ten seconds, or only the time."""

    def tell(stretches: Sequence[Stretch]) -> list[Item]:
        out: list[Item] = []
        for word, length in stretches:
            for _ in range(length):
                ts_us = T0 + 10 * SECOND * len(out)
                out.append(say(ts_us) if word == "calm" else Tick(ts_us))
        return out

    return tell


def silent_job(stretches: Sequence[Stretch]) -> list[Item]:
    """A step of two nodes every ten seconds, or only the time."""
    out: list[Item] = []
    step = at = 0
    for word, length in stretches:
        for _ in range(length):
            at += 10
            if word != "calm":
                out.append(Tick(T0 + at * SECOND))
                continue
            step += 1
            for first in (0, 4):
                out.append(
                    StepReport(
                        job="j",
                        node=f"n{first}",
                        ts_us=T0 + at * SECOND + first,
                        rank=list(range(first, first + 4)),
                        step=[step] * 4,
                        phase=["train"] * 4,
                        step_s=[10.0] * 4,
                        compute_s=[9.0] * 4,
                    )
                )
    return out


SILENT: dict[str, Callable[[int], Message]] = {
    "node": lambda ts_us: GpuScrape(node="n1", ts_us=ts_us, gpus=gpus(2), columns={"100": [1900.0, 1900.0]}),
    "device": lambda ts_us: PortScrape(device="leaf1", ts_us=ts_us, ports=[]),
    "collector": lambda ts_us: Beat(collector="dcgm@n1", source="dcgm", ts_us=ts_us),
}

STORIES = (
    Story(detector="memory", words=("calm", "uncorrected", "reset", "growing", "unreadable"), tell=memory),
    Story(detector="throttle", words=("calm", "hot", "braked", "idle", "unreadable"), tell=throttle),
    Story(detector="xid", words=("calm", "program", "memory", "bus", "gauge", "gone", "reset"), tell=xid),
    Story(
        detector="straggler", words=("calm", "slow", "host"), tell=straggler, least=30, most=45, back=200, examples=8
    ),
    *(
        Story(detector=f"silence_{part}", words=("calm", "silent"), tell=heard(say), least=12, most=20, hears=True)
        for part, say in SILENT.items()
    ),
    Story(detector="hang", words=("calm", "silent"), tell=silent_job, least=15, most=25, hears=True),
    Story(
        detector="lossless_drop", words=("calm", "dropping", "cleared", "unreadable"), tell=lossless, least=12, most=20
    ),
    *COLLECTIVE_STORIES,
    COUNTER_STRAGGLER_STORY,
    LINK_STORY,
    COUNT_STORY,
    LOST_STORY,
    MEMORY_STORY,
    WORN_STORY,
    *FABRIC_STORIES,
    HANG_STORY,
    *LINE_STORIES,
    *STEP_STORIES,
    *WORD_STORIES,
    SETTING_STORY,
)


def named(detectors: Sequence[Detector[Any]], name: str) -> Detector[Any]:
    """The detector of a story."""
    return next(d for d in detectors if d.name == name)
