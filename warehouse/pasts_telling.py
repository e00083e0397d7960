"""The pasts of all nodes into Kafka, where every worker's detectors hear them."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaException, Producer

from collectors.contract.errors import UserError
from collectors.contract.kafka import KafkaClient, kafka_client
from collectors.contract.topic import encode
from streams.contract import NODE_PASTS, NodePast
from warehouse.opening import connect
from warehouse.pasts import node_pasts
from warehouse.settings import WarehouseSettings

DELIVER_S = 30.0

quiet = logging.getLogger("lockstep.pasts.kafka")
"""What librdkafka says of a broker that is away comes back as one error of ours."""
quiet.setLevel(logging.CRITICAL)


class PastsError(UserError):
    """The pasts could not be told; the text says where Kafka was looked for."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was told."""

    nodes: int
    gpus: int
    gpus_with_errors: int
    event_days: float
    gpu_days: float

    def __str__(self) -> str:
        return (
            f"nodes: {self.nodes}, GPUs: {self.gpus} (with corrected memory errors: {self.gpus_with_errors}), "
            f"event-days: {self.event_days:.0f} in {self.gpu_days:.0f} GPU-days"
        )


def tell_pasts(now_us: int | None = None, settings: WarehouseSettings | None = None) -> Told:
    """Read the warehouse up to now and publish a message a node.

    Raises `UserError` without a warehouse or a Kafka to reach.
    """
    client = kafka_client()
    with connect(settings=settings) as connection:
        pasts = node_pasts(connection, time.time_ns() // 1000 if now_us is None else now_us)
    publish(client, pasts)
    clusters = {past.cluster: past for past in pasts}.values()
    return Told(
        nodes=len(pasts),
        gpus=sum(len(past.gpus) for past in pasts),
        gpus_with_errors=sum(1 for past in pasts for gpu in past.gpus if gpu.days),
        event_days=sum(past.fleet_event_days for past in clusters),
        gpu_days=sum(past.fleet_gpu_days for past in clusters),
    )


def publish(client: KafkaClient, pasts: Sequence[NodePast]) -> None:
    """Send all and wait until Kafka has them. Raises `PastsError`."""
    config: dict[str, object] = dict(client.librdkafka())
    config |= {"enable.idempotence": True, "compression.type": "zstd", "message.timeout.ms": int(DELIVER_S * 1000)}
    refused: list[str] = []
    try:
        producer = Producer(config, logger=quiet)
        for past in pasts:
            while True:
                try:
                    producer.produce(
                        NODE_PASTS.name,
                        key=NODE_PASTS.key(past),
                        value=encode(past),
                        on_delivery=lambda error, _: refused.append(error.str()) if error is not None else None,
                    )
                    break
                except BufferError:
                    producer.poll(1.0)
            producer.poll(0)
        left = producer.flush(DELIVER_S + 5.0)
    except KafkaException as why:
        raise PastsError(f"Kafka at {client.bootstrap} did not take {NODE_PASTS.name}: {why}") from why
    if left or refused:
        reason = refused[0] if refused else "no answer"
        count = max(left, len(refused))
        raise PastsError(f"Kafka at {client.bootstrap} did not take {count} messages of {NODE_PASTS.name}: {reason}")
