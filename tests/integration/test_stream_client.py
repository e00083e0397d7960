"""The stream's own consumers while their broker is away."""

import asyncio

import pytest
from aiokafka import TopicPartition

from collectors.contract.kafka import KafkaClient
from collectors.contract.topics import GPU_SCRAPES
from infra.kafka.local import stop
from streams.client import Clients
from streams.security import security
from tests.integration.stream_line import line


@pytest.mark.kafka
def test_consumers_that_end_while_the_broker_is_away_cancel_nobody() -> None:
    with line() as live:
        clients = Clients(KafkaClient(live.broker.bootstrap), security({}))

        async def read(reading: asyncio.Event, end: asyncio.Event, after_s: float) -> str:
            async with clients.reader() as consumer:
                parts = [TopicPartition(GPU_SCRAPES.name, p) for p in range(GPU_SCRAPES.partitions)]
                consumer.assign(parts)
                for part in parts:
                    consumer.seek(part, 0)
                await consumer.getmany(timeout_ms=700)
                reading.set()
                await end.wait()
                await asyncio.sleep(after_s)
            return "went on"

        async def story() -> list[str | BaseException]:
            reading, end = [asyncio.Event() for _ in range(8)], asyncio.Event()
            tasks = [asyncio.create_task(read(one, end, 2.0 + 0.013 * i)) for i, one in enumerate(reading)]
            await asyncio.gather(*(one.wait() for one in reading))
            await asyncio.to_thread(stop, live.broker.folder)
            end.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

        assert asyncio.run(story()) == ["went on"] * 8
