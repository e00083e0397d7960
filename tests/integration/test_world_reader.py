"""A worker's view of the world follows what is published after it began, on the real Kafka."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from collectors.contract.fabric import Link
from collectors.contract.kafka import KafkaClient
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import FABRIC_LINKS
from infra.kafka.local import running_kafka
from infra.topics import ALL_TOPICS, admin_client, create
from streams.client import Clients
from streams.security import security
from streams.world import World
from streams.world_reader import WorldReader

LINK = Link(ts_us=1, device="leaf-2", port="Ethernet48", far_device="node-04", far_kind="nic", node="node-04")


@pytest.mark.kafka
def test_a_cable_that_is_told_later_is_known(tmp_path: Path) -> None:
    with running_kafka(tmp_path) as broker:
        client = KafkaClient(broker.bootstrap)
        create(admin_client(client), ALL_TOPICS)
        assert asyncio.run(follow(client)) == LINK


async def follow(client: KafkaClient) -> Link | None:
    world, heard = World(), asyncio.Event()

    async def told(topic: Topic[Any], message: Message) -> None:
        assert (topic, message) == (FABRIC_LINKS, LINK)
        heard.set()

    async def reject(topic: str, partition: int, offset: int, raw: bytes, why: str) -> None:
        raise AssertionError(f"{topic}[{partition}]@{offset}: {why}: {raw!r}")

    reader = WorldReader(Clients(client, security({})), world, told, reject)
    reading = asyncio.create_task(reader.run())
    await asyncio.wait_for(reader.ready.wait(), 30)
    producer = Producer(client.librdkafka())
    producer.produce(FABRIC_LINKS.name, FABRIC_LINKS.encode(LINK), FABRIC_LINKS.key(LINK))
    producer.flush(10)
    await asyncio.wait_for(heard.wait(), 30)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    return world.link("default", "leaf-2", "Ethernet48")
