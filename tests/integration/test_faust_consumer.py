"""What is read while a worker takes over is judged, however long its way back to the committed offsets takes."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer as Reader
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic
from faust.types import TP

from collectors.contract.kafka import KafkaClient
from infra.kafka.local import running_kafka
from infra.topics import admin_client
from streams.faust_app import faust_app
from streams.faust_consumer import Consumer, Transport
from streams.settings import StreamSettings

pytestmark = pytest.mark.kafka

GROUP = "taking-over"
MESSAGES = 20


class Slow(Consumer):
    """Time enough on the way back to fetch and hand over all there is, if anything were handed over."""

    async def seek_to_committed(self) -> Mapping[TP, int]:
        await asyncio.sleep(1.5)
        committed = await super().seek_to_committed()
        await asyncio.sleep(1.5)
        return committed


class SlowTransport(Transport):
    Consumer = Slow


@pytest.mark.parametrize("committed", [None, 5])
def test_nothing_is_lost_at_the_end_of_a_recovery(tmp_path: Path, committed: int | None) -> None:
    with running_kafka() as broker:
        kafka = KafkaClient(broker.bootstrap)
        admin = admin_client(kafka)
        for future in admin.create_topics([NewTopic(t, 1) for t in ("told", f"{GROUP}-kept-changelog")]).values():
            future.result()
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(MESSAGES):
            producer.produce("told", str(number).encode())
            producer.produce(f"{GROUP}-kept-changelog", b"row", key=str(number).encode())
        assert producer.flush(30) == 0
        if committed is not None:
            reader = Reader({"bootstrap.servers": broker.bootstrap, "group.id": GROUP})
            reader.commit(offsets=[TopicPartition("told", 0, committed)], asynchronous=False)
            reader.close()
        heard = asyncio.run(_taken_over(kafka, tmp_path))
    # The first one that an agent holds when the flow goes on may come again: delivered at least once.
    first = committed or 0
    assert sorted(set(heard)) == list(range(first, MESSAGES))
    assert heard[-(MESSAGES - first) :] == list(range(first, MESSAGES))


async def _taken_over(kafka: KafkaClient, state: Path) -> list[int]:
    """What an agent hears that waits, as ours do, until the worker has taken over."""
    app = faust_app(kafka, StreamSettings(group=GROUP), state, 0)
    app.transport = SlowTransport(app.conf.broker_consumer, app)
    app.Table("kept", partitions=1, key_type=bytes, value_type=bytes)
    recovered: Any = app.tables.recovery  # type: ignore[attr-defined]
    heard: list[int] = []

    async def hearing(stream: Any) -> None:
        async for value in stream:
            await recovered.completed.wait()
            heard.append(int(value))

    app.agent(app.topic("told", value_type=bytes, value_serializer="raw"))(hearing)
    await app.start()
    try:
        async with asyncio.timeout(60):
            while MESSAGES - 1 not in heard:
                await asyncio.sleep(0.1)
        await asyncio.sleep(1.0)
    finally:
        await app.stop()
    return heard
