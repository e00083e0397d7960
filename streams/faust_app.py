"""The Faust app, and the topics that it finds in Kafka."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import faust
from aiokafka.errors import KafkaError

from collectors.contract.errors import UserError
from collectors.contract.kafka import KafkaClient
from collectors.contract.topic import Topic
from streams.client import Clients
from streams.faust_consumer import Transport
from streams.faust_events import Inbound
from streams.security import security
from streams.settings import StreamSettings

log = logging.getLogger("lockstep.stream")


def faust_app(kafka: KafkaClient, settings: StreamSettings, state: Path, worker: int) -> faust.App:
    """The Faust app with the settings that were tried: quick to notice a dead worker, no web server, no standbys."""
    folder = state / "stream" / f"worker-{worker}"
    folder.mkdir(parents=True, exist_ok=True)
    app = faust.App(
        settings.group,
        broker=[f"aiokafka://{host}" for host in kafka.bootstrap.split(",")],
        broker_credentials=security(kafka.properties).faust(),
        store="memory://",
        datadir=str(folder),
        web_enabled=False,
        key_serializer="raw",
        value_serializer="raw",
        topic_allow_declare=True,
        topic_disable_leader=True,
        topic_replication_factor=1,
        table_standby_replicas=0,
        consumer_auto_offset_reset="earliest",
        broker_session_timeout=10.0,
        broker_heartbeat_interval=3.0,
        broker_commit_interval=1.0,
        broker_max_poll_records=2000,
        stream_buffer_maxsize=2048,
        stream_recovery_delay=0.0,
        stream_wait_empty=False,
        producer_acks=-1,
        producer_compression_type="zstd",
        worker_redirect_stdouts=False,
        Monitor=Inbound,
    )
    app.transport = Transport(app.conf.broker_consumer, app)
    return app


async def partitions_of(clients: Clients, topics: list[Topic[Any]]) -> dict[str, int]:
    """Partitions of each topic, once Kafka answers. Raises `UserError` when topics are missing."""
    wait_s, names = 0.5, [t.name for t in topics]
    while True:
        try:
            found = await clients.partitions(names)
        except (KafkaError, OSError) as why:
            log.warning("waiting for Kafka at %s: %s", clients.kafka.bootstrap, why)
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, 10.0)
            continue
        missing = [n for n in names if n not in found]
        if missing:
            raise UserError(f"no topic {', '.join(missing)}: run `lockstep topics` first")
        return found
