"""A placement of 20,000 ranks goes from the collector's outlet into the warehouse and a worker's world."""

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.gpu import GpuScrape
from collectors.contract.job import Coords, JobEvent, Placement
from collectors.contract.kafka import KafkaClient
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, JOB_PLACEMENTS
from collectors.outlet_kafka import KafkaOutlet
from collectors.outlet_producer import connect
from collectors.settings import CollectorSettings
from collectors.spool_folder import SpoolFolder
from infra.kafka.local import running_kafka
from infra.topics import ALL_TOPICS, admin_client, create
from streams.client import Clients
from streams.security import security
from streams.world import World
from streams.world_reader import WorldReader
from tests.integration.loader_process import load_to_the_end, settings
from warehouse.opening import connect as open_warehouse

pytestmark = pytest.mark.kafka

RANKS = 20_000
SETTINGS = CollectorSettings(linger_ms=5.0)


def placed() -> JobEvent:
    ranks = [
        Placement(
            rank=rank,
            node=f"gpu-node-{rank // 8:05d}.cluster.example.com",
            gpu_uuid=f"GPU-{rank * 2654435761 % 2**32:08x}-0000-4000-8000-{rank * 40503:012x}",
            gpu_model="NVIDIA H100 80GB HBM3",
            coords=Coords(dp=rank // 64, tp=rank % 8, pp=rank // 8 % 8),
        )
        for rank in range(RANKS)
    ]
    return JobEvent(ts_us=1_800_000_000_000_000, job="large", kind="placed", placement=ranks)


def scrape(named: int) -> GpuScrape:
    return GpuScrape(ts_us=named, node="n1", gpus=[], labels={"driver_version": "5" * named})


def publish(client: KafkaClient, folder: Path, *messages: tuple[Topic[Any], Message]) -> KafkaOutlet:
    """The outlet, after each message was delivered or refused."""
    outlet = KafkaOutlet(lambda: connect(client, SETTINGS, "steps"), SpoolFolder(folder, "steps"), SETTINGS, "default")
    for topic, message in messages:
        outlet.publish(topic, message)
    end = time.monotonic() + 60
    while any(lane.in_flight for lane in outlet.lanes.values()) or outlet.spooled:
        assert time.monotonic() < end
        outlet.tick()
        time.sleep(0.02)
    outlet.close()
    return outlet


async def world_of(client: KafkaClient) -> World:
    """What a worker knows once it has read the compacted topics."""

    async def told(topic: Topic[Any], message: Message) -> None:
        return None

    async def reject(topic: str, partition: int, offset: int, raw: bytes, why: str) -> None:
        raise AssertionError(f"{topic}[{partition}]@{offset}: {why}")

    reader = WorldReader(Clients(client, security({})), World(), told, reject)
    reading = asyncio.create_task(reader.run())
    await asyncio.wait_for(reader.ready.wait(), 60)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    return reader.world


def test_a_placement_of_20000_ranks_reaches_warehouse_and_world(tmp_path: Path) -> None:
    message = placed()
    assert len(JOB_PLACEMENTS.encode(message)) > 3_000_000
    with running_kafka(tmp_path / "kafka") as broker:
        client = KafkaClient(broker.bootstrap)
        create(admin_client(client), ALL_TOPICS)
        outlet = publish(client, tmp_path / "spool", (JOB_PLACEMENTS, message), (JOB_EVENTS, message))
        assert (outlet.lost, [lane.delivered for lane in outlet.lanes.values()]) == (0, [1, 1])
        load_to_the_end(tmp_path, broker.bootstrap)
        world = asyncio.run(world_of(client))
    with open_warehouse(settings=settings(tmp_path)) as lake:
        assert lake.execute("select count(*), count(distinct gpu_uuid) from job_placements").fetchall() == [
            (RANKS, RANKS)
        ]
    assert world.world_size("default", "large") == RANKS
    assert world.rank("default", "large", RANKS - 1) == message.placement[-1]


def test_a_message_that_its_topic_does_not_take_is_refused_and_holds_up_no_other(tmp_path: Path) -> None:
    rng = random.Random(1)
    noise = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=3_000_000))
    huge = GpuScrape(ts_us=2, node="n1", gpus=[], labels={"driver_version": noise})
    with running_kafka(tmp_path / "kafka") as broker:
        client = KafkaClient(broker.bootstrap)
        create(admin_client(client), ALL_TOPICS)
        outlet = publish(
            client, tmp_path / "spool", (GPU_SCRAPES, scrape(1)), (GPU_SCRAPES, huge), (GPU_SCRAPES, scrape(3))
        )
        lane = outlet.lanes[GPU_SCRAPES.name]
        assert (lane.offered, lane.delivered, lane.refused) == (3, 2, 1)
