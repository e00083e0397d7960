"""Stories that bring out the causes which the first story of a detector leaves out."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from collectors.contract.gpu import Entities
from collectors.contract.job import JobEvent, StepReport
from collectors.contract.kernel import KernelEvent
from streams.detector import Tick
from tests.streams.scrapes import SECOND, T0, Cell, only, scrape
from tests.streams.steps import Job, noisy
from tests.streams.story_form import Item, Story, Stretch

REASONS: Mapping[str, Cell] = {"capped": 4.0, "locked": 2.0, "slowed": 8.0, "boosted": 16.0, "untold": None}
"""Bits of the clock's reasons that GPU 3 shows while it is slow."""
FLAGS: Mapping[str, Mapping[str, float]] = {
    "pending": {"396": 1.0},
    "failed": {"395": 1.0},
    "exhausted": {"393": 512.0},
    "unrepairable": {"1507": 1.0},
    "sram": {"346": 1.0},
    "waiting": {"392": 1.0},
    "retired": {"391": 64.0},
}
"""What GPU 3's memory shows, by field."""
HURT: Mapping[str, str] = {"failing": "1212", "coherent": "1400"}
"""Counter of GPU 3 that grows."""


def reasons(stretches: Sequence[Stretch]) -> list[Item]:
    """A slow GPU and why; `warm`: three degrees before it slows."""
    out: list[Item] = []
    for word, length in stretches:
        for _ in range(length):
            slow, gone = word in REASONS, word == "unreadable"
            columns: dict[str, Sequence[Cell] | Cell] = {
                "100": only(3, 1200.0 if slow else 1930.0, 1930.0),
                "112": only(3, REASONS.get(word, 0.0)),
                "153": only(3, 3.0 if word == "warm" else 20.0, 20.0),
                "1002": 0.9,
            }
            out.append(scrape(10.0 * len(out), {f: None if gone else v for f, v in columns.items()}))
    return out


def flags(stretches: Sequence[Stretch]) -> list[Item]:
    out: list[Item] = []
    names = {f for word in FLAGS.values() for f in word}
    for word, length in stretches:
        for _ in range(length):
            told = {**dict.fromkeys(names, 0.0), **FLAGS.get(word, {})}
            cells = {f: None if word == "unreadable" else v for f, v in told.items()}
            out.append(scrape(10.0 * len(out), {f: only(3, v, None if v is None else 0.0) for f, v in cells.items()}))
    return out


def hurt_links(stretches: Sequence[Stretch]) -> list[Item]:
    """Links that fail, coherent links, a switch that asks for a reset, lines of the kernel's log."""
    out: list[Item] = []
    counts = dict.fromkeys(HURT.values(), 0.0)
    scrapes = 0
    for word, length in stretches:
        for tick in range(length):
            at_s = 10.0 * scrapes
            scrapes += 1
            if word in HURT:
                counts[HURT[word]] += 1.0 if word == "failing" else 50.0
            gone = word == "unreadable"
            columns = {**{f: only(3, None if gone else n) for f, n in counts.items()}, "1002": None if gone else 0.9}
            made = scrape(at_s, columns)
            asks: list[Cell] = [None if gone else float(word == "asking")]
            ports: list[Cell] = [None if gone else 2.0]
            switch = [
                Entities(kind="nvswitch_link", ids=["0"], parents=["nvswitch0"], columns={"870": ports}),
                Entities(kind="nvswitch", ids=["nvswitch0"], parents=[None], columns={"864": asks}),
            ]
            out.append(structs.replace(made, entities=switch))
            if word == "logged" and tick == 0:
                text = "AER: Uncorrected (Fatal) error received: 0000:1d:00.0"
                ts_us = T0 + int((at_s + 1) * SECOND)
                out.append(KernelEvent(node="n1", ts_us=ts_us, kind="aer", pci="0000:1d:00", detail=text, raw=text))
    return out


def slower_job(stretches: Sequence[Stretch]) -> list[Item]:
    """`regressed`: every rank. `lone`: one GPU of a node."""
    words = [word for word, length in stretches for _ in range(length)]

    def factor(rank: int, step: int) -> float:
        if words[step] == "regressed":
            return 1.3
        return 1.5 if words[step] == "lone" and rank == 5 else 1.0

    job = Job(dp=16, per_node=4, compute=noisy(7, 1.0, 0.01, factor), steps=len(words), step_s=1.0)
    return [job.placed(), *job.reports()]


def hushed(stretches: Sequence[Stretch]) -> list[Item]:
    """A step of two nodes every ten seconds. `half`: of one node. `dead`: no heartbeats either."""
    out: list[Item] = []
    number = at = 0
    for word, length in stretches:
        for _ in range(length):
            at += 10
            now = T0 + at * SECOND
            out.append(Tick(now))
            number += word in ("calm", "half")
            out += [
                _step(now + 1 + node, node, number)
                for node in range(2)
                if word == "calm" or (word, node) == ("half", 0)
            ]
            if word != "dead":
                out.append(JobEvent(ts_us=now + 5, job="j", kind="heartbeat"))
    return out


def _step(ts_us: int, node: int, number: int) -> StepReport:
    return StepReport(
        job="j",
        node=f"n{node}",
        ts_us=ts_us,
        rank=[2 * node, 2 * node + 1],
        step=[number] * 2,
        phase=["train"] * 2,
        step_s=[10.0] * 2,
    )


WORD_STORIES = (
    Story(detector="throttle", words=("calm", *REASONS, "warm", "unreadable"), tell=reasons),
    Story(detector="memory", words=("calm", *FLAGS, "unreadable"), tell=flags),
    Story(
        detector="gpu_link",
        words=("calm", *HURT, "asking", "logged", "unreadable"),
        tell=hurt_links,
        least=8,
        most=16,
        back=120,
        examples=15,
    ),
    Story(
        detector="straggler",
        words=("calm", "regressed", "lone"),
        tell=slower_job,
        least=30,
        most=45,
        back=300,
        examples=4,
    ),
    Story(
        detector="hang",
        words=("calm", "half", "still", "dead"),
        tell=hushed,
        least=15,
        most=25,
        back=200,
        examples=15,
        hears=True,
    ),
)
