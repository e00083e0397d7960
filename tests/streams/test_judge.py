"""The judge of one worker, with a producer and a Table that only remember."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from collectors.contract.topics import GPU_SCRAPES, REJECTED
from streams.agents import judged
from streams.bank import Bank
from streams.contract import FINDINGS
from streams.judge import FORGOTTEN_US, IDLE_US, Judge
from streams.metrics import Metrics
from streams.outbox import Outbox
from streams.world import World
from tests.streams.test_mishaps import N1, POISON, FragileDetector
from tests.streams.toy import HotDetector, scrape


@dataclass
class Sent:
    """Every message that the broker would have."""

    values: list[tuple[str, bytes]] = field(default_factory=list)

    async def send_and_wait(self, topic: str, value: bytes, key: bytes) -> None:
        assert key
        self.values.append((topic, value))

    def of(self, topic: Any) -> list[Any]:
        return [topic.decode(value) for name, value in self.values if name == topic.name]


@dataclass
class Rows:
    """The Table of one worker."""

    kept: dict[str, bytes | None] = field(default_factory=dict)

    async def write(self, _partition: int, rows: Mapping[str, bytes | None]) -> None:
        self.kept.update(rows)


def judge() -> tuple[Judge, Sent, Rows]:
    """Owns partition 0, warm."""
    sent, rows, metrics = Sent(), Rows(), Metrics()
    made = Judge(
        Bank([FragileDetector(), HotDetector()]),
        World(),
        cast(Any, rows),
        Outbox(cast(Any, sent), metrics),
        cast(Any, None),
        metrics,
        "group",
        {GPU_SCRAPES.name: GPU_SCRAPES},
    )
    made.assign({0})
    made.groups[0].ready.set()
    return made, sent, rows


def told(sent: Sent) -> list[tuple[str, str, str]]:
    return [(f.detector, f.subject.id, f.state) for f in sent.of(FINDINGS)]


def test_what_a_detector_cannot_judge_is_rejected_with_its_name_place_and_line_and_the_others_go_on() -> None:
    at, sent, _ = judge()
    bad = scrape("n1", 2, [95.0, POISON])

    async def story() -> None:
        await judged(at, GPU_SCRAPES, 0, 7, scrape("n1", 1, [95.0, 50.0]))
        await judged(at, GPU_SCRAPES, 0, 8, bad)
        await judged(at, GPU_SCRAPES, 0, 9, scrape("n1", 3, [50.0, 50.0]))

    asyncio.run(story())
    (reject,) = sent.of(REJECTED)
    assert (reject.source, reject.partition, reject.offset, reject.by) == (GPU_SCRAPES.name, 0, 8, "stream")
    assert reject.why.startswith("detector fragile, default/n1: ZeroDivisionError: division by zero (tests.streams.")
    assert msgspec.json.decode(reject.raw, type=type(bad)) == bad
    assert [(f.subject.id, f.state) for f in sent.of(FINDINGS)] == [
        ("n1-0", "opened"),
        ("n1-1", "opened"),
        ("n1-0", "cleared"),
        ("n1-1", "cleared"),
    ]
    assert at.groups[0].reached.next[GPU_SCRAPES.name] == 10
    assert at.metrics.registry.get_sample_value("lockstep_stream_detector_errors_total", {"detector": "fragile"}) == 1


def test_two_thousand_messages_that_nobody_can_judge_are_reported_twenty_times_a_minute() -> None:
    at, sent, _ = judge()

    async def story() -> None:
        for offset in range(2_000):
            await judged(at, GPU_SCRAPES, 0, offset, scrape(f"n{offset}", 1, [POISON]))

    asyncio.run(story())
    assert len(sent.of(REJECTED)) == 20
    assert len(sent.of(FINDINGS)) == 2_000


def test_twenty_thousand_nodes_that_came_and_went_leave_nothing_behind() -> None:
    at, _, rows = judge()

    async def story() -> None:
        for number in range(20_000):
            await judged(at, GPU_SCRAPES, 0, number, scrape(f"n{number}", number + 1, [50.0]))
        await judged(at, GPU_SCRAPES, 0, 20_000, scrape("n1", 20_000, [95.0]))

        await at.forget_idle(20_000 + IDLE_US + 1)

    asyncio.run(story())
    assert {key for _, key in at.bank.slots} == {N1}
    assert set(at.groups[0].slots) == set(at.bank.slots)
    assert at.groups[0].seen == {(GPU_SCRAPES.name, N1)}
    assert set(rows.kept) == {f"fragile|{N1}", f"throttle|{N1}"}


def test_what_is_kept_of_a_node_is_forgotten_a_month_after_its_last_word() -> None:
    at, _, rows = judge()

    async def story() -> None:
        await judged(at, GPU_SCRAPES, 0, 1, scrape("n1", 1, [95.0]))
        await at.forget_idle(FORGOTTEN_US)
        assert {key for _, key in at.bank.slots} == {N1}
        await at.forget_idle(FORGOTTEN_US + 2)

    asyncio.run(story())
    assert at.bank.slots == {}
    assert rows.kept == {f"fragile|{N1}": None, f"throttle|{N1}": None}


def test_a_state_that_was_restored_and_hears_nothing_has_its_month_too() -> None:
    at, _, _ = judge()
    detector = at.bank.detectors[0]
    slot = at.groups[0].slots[(detector.name, N1)] = at.bank.put(detector, N1, detector.restore(b'{"n1-0":1}'))
    now_us = 10 * FORGOTTEN_US

    async def story() -> None:
        await at.forget_idle(now_us)
        assert list(at.bank.slots.values()) == [slot]
        await at.forget_idle(now_us + FORGOTTEN_US + 1)

    asyncio.run(story())
    assert at.bank.slots == {}
