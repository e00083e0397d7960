"""The last messages of topics, read once and left: for commands that look at what is there."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from collectors.contract.errors import UserError
from collectors.contract.kafka import KafkaClient
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from infra.topics import admin_client, existing

IDLE_S = 15.0


def read(
    client: KafkaClient,
    since_us: Mapping[str, int | None],
    topics: Sequence[Topic[Any]],
    keep: Callable[[Topic[Any], Message], bool],
    progress: Callable[[int], None] = lambda count: None,
) -> list[tuple[Topic[Any], Message]]:
    """Messages of topics from a time on (`since_us` by topic name; None: from the start) up to now, by their time.

    Bytes that cannot be read are passed over: the streams reject them. Raises `UserError` when Kafka does not answer.
    """
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    there = existing(admin_client(client))
    missing = [topic.name for topic in topics if topic.name not in there]
    if missing:
        raise UserError(f"no topic {', '.join(missing)} in this Kafka; run `lockstep topics` to make them")
    consumer = Consumer(
        {**client.librdkafka(), "group.id": "lockstep-look", "enable.auto.commit": False, "log_level": 0}
    )
    by_name = {topic.name: topic for topic in topics}
    out: list[tuple[Topic[Any], Message]] = []
    try:
        ends = spans(consumer, [TopicPartition(n, p) for n in by_name for p in range(there[n])], since_us)
        consumer.assign([TopicPartition(name, partition, start) for (name, partition), (start, _) in ends.items()])
        left = {key for key, (start, end) in ends.items() if start < end}
        heard, count = time.monotonic(), 0
        while left:
            records = consumer.consume(1000, timeout=0.5)
            if records:
                heard = time.monotonic()
            elif time.monotonic() - heard > IDLE_S:
                raise UserError(f"Kafka sends nothing more of {', '.join(sorted({name for name, _ in left}))}")
            for record in records:
                _take(record, by_name, keep, out)
            for partition in consumer.position(consumer.assignment()):
                if partition.offset >= ends[partition.topic, partition.partition][1]:
                    left.discard((partition.topic, partition.partition))
            count += len(records)
            progress(count)
    except KafkaException as why:
        raise UserError(f"Kafka does not answer: {why.args[0].str()}; is LOCKSTEP_KAFKA right?") from why
    finally:
        consumer.close()
    return sorted(out, key=lambda pair: pair[1].ts_us)


def spans(
    consumer: Any, partitions: Iterable[Any], since_us: Mapping[str, int | None]
) -> dict[tuple[str, int], tuple[int, int]]:
    """(topic, partition) -> first offset from a time on (None: that there is) and the offset after the last."""
    from confluent_kafka import TopicPartition

    partitions = list(partitions)
    asked = [
        TopicPartition(tp.topic, tp.partition, since // 1000)
        for tp in partitions
        if (since := since_us.get(tp.topic)) is not None
    ]
    starts = (
        {(tp.topic, tp.partition): tp.offset for tp in consumer.offsets_for_times(asked, timeout=15.0)} if asked else {}
    )
    out = {}
    for tp in partitions:
        low, high = consumer.get_watermark_offsets(tp, timeout=15.0)
        start = starts.get((tp.topic, tp.partition), low)
        out[tp.topic, tp.partition] = (high if start < 0 else max(low, start), high)
    return out


def _take(
    record: Any,
    topics: dict[str, Topic[Any]],
    keep: Callable[[Topic[Any], Message], bool],
    out: list[tuple[Topic[Any], Message]],
) -> None:
    value, name = record.value(), record.topic()
    if record.error() is not None or value is None or name is None:
        return
    topic = topics[name]
    try:
        message = topic.decode(value)
    except msgspec.MsgspecError:
        return
    if keep(topic, message):
        out.append((topic, message))
