"""What happens to messages on their way: some are lost, some come twice, late or with cells that nobody could read.

Pure and seeded: each message's fate depends on the seed and its place in the stream alone.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from msgspec import structs

from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import (
    COLLECTOR_BEATS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_STEPS,
    KERNEL_EVENTS,
    NCCL_WINDOWS,
)
from infra.fleet.noise import poisson, stream

Pair = tuple[Topic[Any], Message]
SAMPLED = frozenset(t.name for t in (GPU_SCRAPES, FABRIC_SCRAPES, COLLECTOR_BEATS, JOB_STEPS, NCCL_WINDOWS))
"""Topics of which a message may be lost: the next one says as much."""
DELAYED = SAMPLED | {JOB_EVENTS.name, KERNEL_EVENTS.name}
"""Topics of which a message may come late or twice. Placements and cables are read whole before anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """Shares are of the messages; all 0: every message comes once, at its time."""

    missing: float = 0.0
    """Never come."""
    duplicates: float = 0.0
    """Come a second time, up to `late_s` later."""
    late: float = 0.0
    """Come up to `late_s` after their time."""
    late_s: float = 3.0
    jitter_s: float = 0.0
    """A scrape is stamped up to this after the values it shows."""
    unreadable: float = 0.0
    """Share of a scrape's cells that are None."""
    restarts_s: tuple[float, ...] = ()
    """When the pipeline is stopped and started again from what it kept."""

    @property
    def perfect(self) -> bool:
        """Whether the stream is left as it is."""
        return not (self.missing or self.duplicates or self.late or self.jitter_s or self.unreadable)


PERFECT = Telemetry()


@dataclass(frozen=True, slots=True, order=True)
class Arrival:
    """A message at the time when it reaches the pipeline."""

    us: int
    place: int
    pair: Pair = field(compare=False)


def arrivals(messages: Iterable[Pair], telemetry: Telemetry, seed: int) -> Iterator[tuple[int, Pair]]:
    """(microseconds of arrival, message) in the order of arrival; `messages` in the order of their times."""
    if telemetry.perfect:
        for pair in messages:
            yield pair[1].ts_us, pair
        return
    rng = stream(seed, "telemetry")
    waiting: list[Arrival] = []
    for place, (topic, message) in enumerate(messages):
        while waiting and waiting[0].us <= message.ts_us:
            first = heapq.heappop(waiting)
            yield first.us, first.pair
        for us, made in _fate(topic, message, telemetry, rng):
            heapq.heappush(waiting, Arrival(us, place, (topic, made)))
    while waiting:
        first = heapq.heappop(waiting)
        yield first.us, first.pair


def _fate(topic: Topic[Any], message: Message, telemetry: Telemetry, rng: Random) -> Iterator[tuple[int, Message]]:
    """When a message arrives, and as what: never, once or twice."""
    if topic.name in SAMPLED and rng.random() < telemetry.missing:
        return
    made = message
    if isinstance(message, GpuScrape | PortScrape):
        if telemetry.unreadable > 0.0:
            made = _holed(message, telemetry.unreadable, rng)
        if telemetry.jitter_s > 0.0:
            made = structs.replace(made, ts_us=made.ts_us + round(rng.uniform(0.0, telemetry.jitter_s) * 1e6))
    us = made.ts_us
    if topic.name not in DELAYED:
        yield us, made
        return
    if rng.random() < telemetry.late:
        us += round(rng.uniform(0.0, telemetry.late_s) * 1e6)
    yield us, made
    if rng.random() < telemetry.duplicates:
        yield us + round(rng.uniform(0.0, telemetry.late_s) * 1e6), made


def _holed(scrape: GpuScrape | PortScrape, share: float, rng: Random) -> GpuScrape | PortScrape:
    """A scrape of which some cells could not be read."""
    names = list(scrape.columns)
    rows = len(scrape.gpus) if isinstance(scrape, GpuScrape) else len(scrape.ports)
    holes = poisson(rng, share * len(names) * rows)
    if holes == 0:
        return scrape
    columns: dict[str, Any] = dict(scrape.columns)
    for _ in range(holes):
        name, row = rng.choice(names), rng.randrange(rows)
        columns[name] = [*columns[name][:row], None, *columns[name][row + 1 :]]
    return structs.replace(scrape, columns=columns)
