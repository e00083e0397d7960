"""Who reports in the place of a part ends what was said of it; that it is gone alone does not."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from collectors.contract.fabric import Port, PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from streams.contract import Finding, finding_key
from streams.detector import Detector
from streams.detectors.all import detectors
from streams.successors import Slots, heirs_of_ports
from tests.streams.detector_stories import STORIES
from tests.streams.scrapes import SECOND, gpus, scrape
from tests.streams.story_form import Item, Story

CASES = [(story, word) for story in STORIES for word in story.words if word not in ("calm", "unreadable")]
OF_GPUS = {"memory", "throttle", "xid", "counter_straggler", "gpu_link", "gpu_lost"}
OF_PORTS = {"lossless_drop", "link_quality", "link_flap", "pause", "transport"}


def left_open(found: Sequence[Finding]) -> list[Finding]:
    last = {finding_key(f): f for f in found}
    return [f for f in last.values() if f.state != "cleared"]


def told(story: Story, word: str) -> list[Item]:
    return story.tell([("calm", story.most), (word, story.most)])


def after(story: Story, word: str, successor: type[Message], restart: bool) -> list[tuple[Finding, Finding | None]]:
    """Episodes that the word leaves open -> how they end when all parts were replaced."""
    detector: Detector[Any] = next(d for d in detectors() if d.name == story.detector)
    items = told(story, word)
    state, found = detector.step(detector.fresh(), items)
    if restart:
        kept = detector.keep(state)
        state = detector.fresh() if kept is None else detector.restore(kept)
    shown = [item for item in items if isinstance(item, successor)]
    if not shown:
        return []
    last_us = max(item.ts_us for item in items)
    now = [replaced(max(shown, key=lambda m: len(parts_of(m))), last_us + n * 60 * SECOND) for n in (1, 2)]
    _, ended = detector.step(state, now)
    ends = {finding_key(f): f for f in ended if f.state == "cleared"}
    return [(f, ends.get(finding_key(f))) for f in left_open(found)]


def parts_of(message: Message) -> Sequence[Any]:
    return message.gpus if isinstance(message, GpuScrape) else message.ports if isinstance(message, PortScrape) else []


def replaced(message: Message, ts_us: int) -> Message:
    """The same page, with another GPU in each slot, each port split in two."""
    if isinstance(message, GpuScrape):
        others = [structs.replace(gpu, uuid=f"{gpu.uuid}-new") for gpu in message.gpus]
        return structs.replace(message, ts_us=ts_us, gpus=others)
    assert isinstance(message, PortScrape)
    lanes = [structs.replace(p, name=f"{p.name}/{n}", oper_up=True) for p in message.ports for n in (1, 2)]
    columns = {name: [value for value in column for _ in (1, 2)] for name, column in message.columns.items()}
    return structs.replace(message, ts_us=ts_us, ports=lanes, columns=columns)


def covered(message: type[Message], kinds: set[str], restart: bool) -> set[str]:
    seen: set[str] = set()
    for story, word in CASES:
        for opened, ended in after(story, word, message, restart):
            if opened.subject.kind not in kinds or (opened.subject.kind == "gpu" and opened.subject.gpu_uuid is None):
                continue
            assert ended is not None, (story.detector, word, opened.cause)
            assert " is gone, replaced by " in ended.summary, (story.detector, word, ended.summary)
            seen.add(story.detector)
    return seen


@pytest.mark.parametrize("restart", [False, True])
def test_a_gpu_in_the_slot_of_another_ends_its_episodes(restart: bool) -> None:
    assert covered(GpuScrape, {"gpu"}, restart) == OF_GPUS


@pytest.mark.parametrize("restart", [False, True])
def test_the_ports_that_a_port_was_split_into_end_its_episodes(restart: bool) -> None:
    assert covered(PortScrape, {"port"}, restart) >= OF_PORTS


OTHERS = [structs.replace(gpu, uuid=f"{gpu.uuid}-new") for gpu in gpus(8)]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("throttle", {"100": 1200.0, "112": 128.0, "1002": 0.9}),
        ("gpu_link", {"235": 5.0, "236": 16.0, "237": 5.0, "238": 8.0, "1002": 0.9}),
    ],
)
def test_the_nodes_own_episode_ends_when_all_its_gpus_were_replaced(name: str, columns: dict[str, float]) -> None:
    detector: Detector[Any] = next(d for d in detectors() if d.name == name)
    well = columns | {"100": 1930.0, "112": 0.0, "238": 16.0}
    state, found = detector.step(detector.fresh(), [scrape(10 * n, columns if n > 2 else well) for n in range(60)])
    assert [(f.state, f.subject.kind) for f in found] == [("opened", "node")]
    half = [*OTHERS[:4], *gpus(8)[4:]]
    state, ended = detector.step(state, [scrape(700, {"1002": 0.0}, parts=half)])
    assert ended == []
    _, ended = detector.step(state, [scrape(710, {"1002": 0.0}, parts=OTHERS)])
    assert [f.state for f in ended] == ["cleared"]
    assert ended[0].summary == "GPUs of n1 are gone, replaced by GPU-4-new, GPU-5-new, GPU-6-new, GPU-7-new"


def page(at_s: float, *uuids: str) -> GpuScrape:
    parts = [structs.replace(gpu, uuid=uuid) for gpu, uuid in zip(gpus(len(uuids)), uuids, strict=True)]
    return scrape(at_s, {}, parts=parts)


def test_a_slot_that_is_empty_and_a_gpu_that_moved_replace_nobody() -> None:
    slots = Slots()
    assert slots.heirs(page(0, "A", "B", "C"), ()) == {}
    assert slots.heirs(page(10, "A", "B"), ()) == {}
    assert slots.heirs(page(20, "B", "A"), ()) == {}


def test_a_gpu_that_comes_long_after_the_slot_was_empty_is_the_heir() -> None:
    slots = Slots()
    slots.heirs(page(0, "A", "B"), ())
    slots.heirs(page(10, "A"), ())
    assert slots.heirs(page(9000, "A", "D"), ()) == {"B": "D"}
    assert slots.heirs(page(9010, "A", "D"), ()) == {}


def device(*names: str, up: bool | None = True) -> PortScrape:
    return PortScrape(ts_us=0, device="leaf-1", ports=[Port(name=name, oper_up=up) for name in names])


@pytest.mark.parametrize(
    ("port", "lanes"),
    [
        ("Ethernet8", ("Ethernet8/1", "Ethernet8/2", "Ethernet8/3", "Ethernet8/4")),
        ("Ethernet1/8", ("Ethernet1/8/1", "Ethernet1/8/2")),
        ("et-0/0/8", ("xe-0/0/8:0", "xe-0/0/8:1", "xe-0/0/8:2", "xe-0/0/8:3")),
        ("swp8", ("swp8s0", "swp8s1")),
    ],
)
def test_lanes_of_a_port_are_known_by_their_names_and_so_is_the_port_that_they_are_joined_to(
    port: str, lanes: tuple[str, ...]
) -> None:
    assert heirs_of_ports(device("Ethernet9", *lanes), [port]) == {port: ", ".join(lanes)}
    assert heirs_of_ports(device("Ethernet9", port), lanes) == dict.fromkeys(lanes, port)


def test_other_ports_one_lane_and_lanes_that_tell_nothing_replace_no_port() -> None:
    for names in (("Ethernet80", "Ethernet9"), ("Ethernet8/1",), ("Ethernet8.1", "Ethernet8.2"), ()):
        assert heirs_of_ports(device(*names), ["Ethernet8"]) == {}
    assert heirs_of_ports(device("Ethernet8/1", "Ethernet8/2", up=None), ["Ethernet8"]) == {}
    assert heirs_of_ports(device("Ethernet8", "Ethernet8/1", "Ethernet8/2"), ["Ethernet8"]) == {}


def test_a_scrape_from_before_the_fault_ends_nothing() -> None:
    story, word = next((s, w) for s, w in CASES if s.detector == "link_flap" and w == "flapping")
    detector = next(d for d in detectors() if d.name == story.detector)
    state, found = detector.step(detector.fresh(), told(story, word))
    (opened,) = left_open(found)
    shown = next(m for m in told(story, word) if isinstance(m, PortScrape))
    _, ended = detector.step(state, [replaced(shown, opened.episode_us - 1)])
    assert ended == []


def test_counters_of_a_port_that_was_split_are_blind_no_more() -> None:
    assert [
        (opened.subject.kind, ended is not None and ended.state)
        for story, word in CASES
        if story.detector == "counter_blind"
        for opened, ended in after(story, word, PortScrape, restart=True)
    ] == [("device", "cleared"), ("device", "cleared")]
