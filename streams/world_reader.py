"""Keeps the world of a worker: compacted topics from their start, job and collector news, samples of scrapes.

Every worker reads all partitions by plain consumers: the correlator must know all planes, and placements
have one partition while every worker judges ranks.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import (
    COLLECTOR_BEATS,
    FABRIC_LINKS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    NODE_STATES,
)
from streams.client import Clients, read_range
from streams.contract import NODE_PASTS, ORDERS
from streams.mishaps import told
from streams.world import World

log = logging.getLogger("lockstep.stream")

WHOLE: tuple[Topic[Any], ...] = (JOB_PLACEMENTS, FABRIC_LINKS, NODE_STATES, ORDERS, NODE_PASTS)
RECENT: dict[str, int] = {JOB_EVENTS.name: 48 * 3_600_000, COLLECTOR_BEATS.name: 120_000}
"""Read from so many milliseconds ago."""
SAMPLED_MS = 30_000
RESAMPLE_S = 60.0
FOLLOWED: dict[str, Topic[Any]] = {t.name: t for t in (*WHOLE, JOB_EVENTS, COLLECTOR_BEATS)}


class _Inventory(Message, frozen=True, kw_only=True):
    """A scrape without its columns: cheap to decode."""

    node: str
    gpus: list[Gpu]
    part: bool = False


_inventory = msgspec.json.Decoder(_Inventory)


@dataclass(slots=True)
class WorldReader:
    """`told` is called with each message of a compacted topic; `reject` with bytes that cannot be read."""

    clients: Clients
    world: World
    told: Callable[[Topic[Any], Message], Awaitable[None]]
    reject: Callable[[str, int, int, bytes, str], Awaitable[None]]
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Read until cancelled; starts over when the broker was away."""
        while True:
            try:
                async with self.clients.reader() as consumer:
                    await self.sample(consumer)
                    await self._follow(consumer)
            except (KafkaError, OSError) as why:
                log.warning("world: %s; reading again", why)
                await asyncio.sleep(2.0)

    async def sample(self, consumer: AIOKafkaConsumer) -> None:
        """Which GPUs sit where and which NIC in which host, from the last half minute of scrapes."""
        parts = await self._partitions(GPU_SCRAPES.name, FABRIC_SCRAPES.name)
        if not parts:
            return
        since = int(time.time() * 1000) - SAMPLED_MS
        ends = await consumer.end_offsets(parts)
        found = await consumer.offsets_for_times(dict.fromkeys(parts, since))
        ranges = {tp: (at.offset, ends[tp]) for tp, at in found.items() if at is not None}
        async for record in read_range(consumer, ranges):
            if record.value is None:
                continue
            try:
                if record.topic == GPU_SCRAPES.name:
                    seen = _inventory.decode(record.value)
                    self.world.learn(
                        GpuScrape(
                            cluster=seen.cluster, ts_us=seen.ts_us, node=seen.node, gpus=seen.gpus, part=seen.part
                        )
                    )
                else:
                    self.world.learn(FABRIC_SCRAPES.decode(record.value))
            except msgspec.MsgspecError:
                continue  # the agent of that topic rejects it

    async def _follow(self, consumer: AIOKafkaConsumer) -> None:
        parts = await self._partitions(*FOLLOWED)
        consumer.assign(parts)
        ends = await consumer.end_offsets(parts)
        await self._seek(consumer, parts)
        behind = {tp for tp in parts if await consumer.position(tp) < ends[tp]}
        sampled = time.monotonic()
        while True:
            if not behind:
                self.ready.set()
            batches = await consumer.getmany(timeout_ms=1000)
            for records in batches.values():
                for record in records:
                    await self._take(record)
            for tp in list(behind):
                if await consumer.position(tp) >= ends[tp]:
                    behind.discard(tp)
            if time.monotonic() - sampled > RESAMPLE_S:
                sampled = time.monotonic()
                async with self.clients.reader() as other:
                    await self.sample(other)

    async def _seek(self, consumer: AIOKafkaConsumer, parts: list[TopicPartition]) -> None:
        now = int(time.time() * 1000)
        wish = {tp: now - RECENT[tp.topic] for tp in parts if tp.topic in RECENT}
        found = await consumer.offsets_for_times(wish) if wish else {}
        ends = await consumer.end_offsets(list(wish)) if wish else {}
        for tp in parts:
            if tp in wish:
                at = found.get(tp)
                consumer.seek(tp, at.offset if at is not None else ends[tp])
            else:
                await consumer.seek_to_beginning(tp)

    async def _partitions(self, *names: str) -> list[TopicPartition]:
        """Asked of the brokers: a consumer without a subscription knows no topic's partitions."""
        there = await self.clients.partitions(list(names))
        return [TopicPartition(name, p) for name in names for p in range(there.get(name, 0))]

    async def _take(self, record: ConsumerRecord) -> None:
        topic = FOLLOWED[record.topic]
        if record.value is None:
            return
        try:
            message = topic.decode(record.value)
        except msgspec.MsgspecError as why:
            if topic.compacted:
                await self.reject(record.topic, record.partition, record.offset, record.value, str(why))
            return
        try:
            self.world.learn(message)
        except Exception as error:  # noqa: BLE001 - what the fleet looks like stays as it was known
            await self.reject(record.topic, record.partition, record.offset, record.value, f"world: {told(error)}")
        if topic.compacted:
            await self.told(topic, message)
