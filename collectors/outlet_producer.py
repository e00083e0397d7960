"""librdkafka's producer, as a collector uses it."""

from typing import Any

from confluent_kafka import Producer

from collectors.contract.kafka import KafkaClient
from collectors.contract.topics import LARGE_BYTES
from collectors.outlet_log import limited_logger
from collectors.settings import CollectorSettings


def producer_config(client: KafkaClient, settings: CollectorSettings, name: str) -> dict[str, Any]:
    """librdkafka's properties; the user's file wins. A message waits for Kafka without end: the spool bounds it."""
    return {
        "client.id": f"lockstep-{name}",
        "enable.idempotence": True,
        "compression.type": "zstd",
        "compression.level": 1,
        "linger.ms": settings.linger_ms,
        "batch.size": 1 << 20,
        "message.max.bytes": LARGE_BYTES,
        "message.timeout.ms": 0,
        "topic.metadata.propagation.max.ms": 5000,
        "queue.buffering.max.kbytes": 64 << 10,
        "partitioner": "murmur2_random",
        **client.librdkafka(),
    }


def connect(client: KafkaClient, settings: CollectorSettings, name: str) -> Producer:
    """A producer whose own log goes through ours, repeated lines held back. Raises `KafkaException`."""
    return Producer(producer_config(client, settings, name), logger=limited_logger("lockstep.kafka"))
