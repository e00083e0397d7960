"""What a person says while watching."""

import time
from typing import Any

from collectors.contract.errors import UserError
from collectors.contract.kafka import KafkaClient
from streams.contract import ORDERS, Incident, Order

WAIT_S = 5.0


def acknowledge(client: KafkaClient, incident: Incident, by: str) -> None:
    """Say that somebody has seen an incident. Raises `UserError` when Kafka does not take it."""
    from confluent_kafka import Producer

    order = Order(
        cluster=incident.cluster,
        ts_us=time.time_ns() // 1000,
        id=f"ack-{incident.id}",
        kind="ack",
        incident=incident.id,
        by=by,
    )
    producer = Producer({**client.librdkafka(), "log_level": 0, "message.timeout.ms": int(WAIT_S * 1000)})
    failed: list[str] = []

    def heard(error: Any, _: Any) -> None:
        if error is not None:
            failed.append(error.str())

    producer.produce(ORDERS.name, ORDERS.encode(order), ORDERS.key(order).encode(), on_delivery=heard)
    if producer.flush(WAIT_S + 1.0) or failed:
        raise UserError(f"Kafka does not take it, so it was not said: {', '.join(failed) or 'no answer'}")
