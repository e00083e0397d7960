"""Plain aiokafka clients beside Faust: reading back, following compacted topics, publishing with idempotence."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from collectors.contract.kafka import KafkaClient
from streams.security import Security


@dataclass(frozen=True, slots=True)
class Clients:
    """Makes clients of one cluster. Every wait ends: a broker that is away raises `KafkaError` or times out."""

    kafka: KafkaClient
    security: Security

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[AIOKafkaConsumer]:
        """A consumer without a group: its owner assigns and seeks."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.kafka.bootstrap.split(","),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=100,
            max_partition_fetch_bytes=8 << 20,
            metadata_max_age_ms=60_000,
            **self.security.aiokafka(),
        )
        try:
            await consumer.start()
            yield consumer
        finally:
            # A consumer stopped before its own tasks ran once raises CancelledError.
            await asyncio.sleep(0)
            await _stop(consumer)

    def producer(self) -> AIOKafkaProducer:
        """Idempotent, acknowledged by all, zstd; retries for as long as the broker is away."""
        return AIOKafkaProducer(
            bootstrap_servers=self.kafka.bootstrap.split(","),
            enable_idempotence=True,
            acks="all",
            compression_type="zstd",
            request_timeout_ms=30_000,
            max_request_size=1 << 20,
            **self.security.aiokafka(),
        )

    async def partitions(self, topics: list[str]) -> dict[str, int]:
        """Partitions of each topic; a topic that is not there is left out."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka.bootstrap.split(","), **self.security.aiokafka())
        await admin.start()
        try:
            found = await admin.describe_topics(topics)
        finally:
            await admin.close()
        return {t["topic"]: len(t["partitions"]) for t in found if t["error_code"] == 0 and t["partitions"]}

    async def make_changelogs(self, partitions: Mapping[str, int], like: str) -> None:
        """Create the compacted topics behind Tables before Faust joins, which saves it a second rebalance.

        They get as many replicas as the topic `like`.
        """
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka.bootstrap.split(","), **self.security.aiokafka())
        await admin.start()
        try:
            known = set(await admin.list_topics())
            replicas = len((await admin.describe_topics([like]))[0]["partitions"][0]["replicas"])
            missing = [
                NewTopic(name, count, replicas, topic_configs={"cleanup.policy": "compact"})
                for name, count in partitions.items()
                if name not in known
            ]
            if missing:
                await admin.create_topics(missing)
        finally:
            await admin.close()

    async def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The group's committed offsets."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka.bootstrap.split(","), **self.security.aiokafka())
        await admin.start()
        try:
            found = await admin.list_consumer_group_offsets(group)
        finally:
            await admin.close()
        return {(tp.topic, tp.partition): meta.offset for tp, meta in found.items() if meta.offset >= 0}


async def _stop(consumer: AIOKafkaConsumer) -> None:
    """Stop without being cancelled by it: aiokafka lets the end of a fetch that waits for a broker out as our own."""
    try:
        await consumer.stop()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        await consumer._client.close()  # which `stop` did not come to


async def read_range(
    consumer: AIOKafkaConsumer, ranges: Mapping[TopicPartition, tuple[int, int]], idle_s: float = 20.0
) -> AsyncIterator[ConsumerRecord]:
    """Records of each partition from start up to, not including, end. Raises `KafkaError` when nothing comes."""
    left = {tp: end for tp, (start, end) in ranges.items() if end > start}
    if not left:
        return
    consumer.assign(list(left))
    for tp in left:
        consumer.seek(tp, ranges[tp][0])
    clock = asyncio.get_running_loop().time
    moved = clock()
    while left:
        batches = await consumer.getmany(*left, timeout_ms=500, max_records=2000)
        for tp, records in batches.items():
            for record in records:
                if tp in left and record.offset < left[tp]:
                    yield record
        for tp in [tp for tp in left if await consumer.position(tp) >= left[tp]]:
            del left[tp]
        if batches:
            moved = clock()
        elif clock() - moved > idle_s:
            raise KafkaError(f"nothing came from {', '.join(f'{tp.topic}/{tp.partition}' for tp in left)}")
