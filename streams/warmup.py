"""After a restart or rebalance: the last minutes before the committed offsets, and what was published already."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.client import Clients, read_range
from streams.contract import FINDINGS, INCIDENTS, NODE_HEALTH

log = logging.getLogger("lockstep.stream")

MINUTE_MS = 60_000
WINDOW_MS = {
    "gpu.scrapes.v1": 3 * MINUTE_MS,
    "fabric.scrapes.v1": 3 * MINUTE_MS,
    "collector.beats.v1": 3 * MINUTE_MS,
    "kernel.events.v1": 10 * MINUTE_MS,
    "nccl.windows.v1": 5 * MINUTE_MS,
    "job.steps.v1": 15 * MINUTE_MS,
    "job.events.v1": 60 * MINUTE_MS,
}
"""How far back the short-lived state of the detectors of a topic reaches; others: 3 minutes."""
EDGE_SLACK_MS = 5 * MINUTE_MS


async def last_minutes(
    clients: Clients, topics: Mapping[str, Topic[Any]], ends: Mapping[TopicPartition, int]
) -> tuple[list[tuple[int, Topic[Any], Message]], int | None]:
    """Partition, topic and message before each end offset, by event time; the oldest record time at an end.

    Record times are milliseconds since 1970. Unreadable bytes are passed over: they were rejected when first met.
    """
    if not ends:
        return [], None
    out: list[tuple[int, int, int, Topic[Any], Message]] = []
    async with clients.reader() as consumer:
        first = await consumer.beginning_offsets(list(ends))
        ends = {tp: end for tp, end in ends.items() if end > first[tp]}
        times = await _last_times(consumer, ends)
        starts = await _starts(consumer, times)
        ranges = {tp: (starts.get(tp, ends[tp]), ends[tp]) for tp in times}
        async for record in read_range(consumer, ranges):
            if record.value is None:
                continue
            topic = topics[record.topic]
            try:
                message = topic.decode(record.value)
            except msgspec.MsgspecError:
                continue
            out.append((message.ts_us, len(out), record.partition, topic, message))
    out.sort(key=lambda row: row[:2])
    return [row[2:] for row in out], min(times.values(), default=None)


async def published(clients: Clients, since_ms: int) -> list[Message]:
    """Findings, incidents and health written since a moment (less a slack); a message nobody can read is none."""
    out: list[Message] = []
    topics: dict[str, Topic[Any]] = {t.name: t for t in (FINDINGS, INCIDENTS, NODE_HEALTH)}
    async with clients.reader() as consumer:
        parts = [TopicPartition(name, p) for name in topics for p in consumer.partitions_for_topic(name) or {0}]
        ends = await consumer.end_offsets(parts)
        starts = await _starts(consumer, {tp: since_ms - EDGE_SLACK_MS for tp in parts}, window=False)
        ranges = {tp: (starts.get(tp, ends[tp]), ends[tp]) for tp in parts}
        async for record in read_range(consumer, ranges):
            try:
                if record.value is not None:
                    out.append(topics[record.topic].decode(record.value))
            except msgspec.MsgspecError:
                continue
    return out


async def _last_times(consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Record time of the last message before each end."""
    times: dict[TopicPartition, int] = {}
    async for record in read_range(consumer, {tp: (end - 1, end) for tp, end in ends.items()}):
        times[TopicPartition(record.topic, record.partition)] = record.timestamp
    return times


async def _starts(
    consumer: AIOKafkaConsumer, times: Mapping[TopicPartition, int], window: bool = True
) -> dict[TopicPartition, int]:
    if not times:
        return {}
    wish = {tp: max(0, ms - (WINDOW_MS.get(tp.topic, 3 * MINUTE_MS) if window else 0)) for tp, ms in times.items()}
    found = await consumer.offsets_for_times(wish)
    return {tp: at.offset for tp, at in found.items() if at is not None}
