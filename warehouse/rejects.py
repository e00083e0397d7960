"""Bytes that cannot be loaded, to `rejected.v1`: one report a topic and commit, with the number of the others."""

import logging
from dataclasses import dataclass, field

from confluent_kafka import KafkaException, Producer

from collectors.contract.beat import Rejected
from collectors.contract.kafka import KafkaClient
from collectors.contract.topic import encode
from collectors.contract.topics import REJECTED

RAW_BYTES = 64 * 1024
DELIVER_S = 10.0


@dataclass(slots=True)
class Rejects:
    """What was bad since the last commit, and how much in all."""

    cluster: str
    reports: dict[str, Rejected] = field(default_factory=dict)
    total: int = 0

    def add(self, topic: str, partition: int | None, offset: int | None, raw: bytes, why: str, now_us: int) -> None:
        """Keep the first of each topic, count the others."""
        self.total += 1
        former = self.reports.get(topic)
        self.reports[topic] = Rejected(
            cluster=self.cluster,
            ts_us=former.ts_us if former else now_us,
            source=topic,
            partition=former.partition if former else partition,
            offset=former.offset if former else offset,
            why=former.why if former else why,
            raw=former.raw if former else raw[:RAW_BYTES],
            by="warehouse",
            unreported=former.unreported + 1 if former else 0,
        )

    def take(self) -> list[Rejected]:
        """The reports so far; begins anew."""
        reports = list(self.reports.values())
        self.reports = {}
        return reports


class Reporter:
    """The loader's own messages to Kafka: reports of bad bytes, and beats."""

    def __init__(self, client: KafkaClient, logger: logging.Logger) -> None:
        self._producer = Producer(
            client.librdkafka() | {"enable.idempotence": True, "compression.type": "zstd"}, logger=logger
        )

    def send(self, topic: str, key: str, value: bytes) -> None:
        """Hand over one message; a full queue drops it, which only reports can suffer."""
        try:
            self._producer.produce(topic, key=key, value=value)
        except (BufferError, KafkaException):
            return
        self._producer.poll(0)

    def report(self, reports: list[Rejected]) -> int:
        """Send reports and wait for Kafka to have them; how many it has not yet after some seconds."""
        for report in reports:
            self.send(REJECTED.name, REJECTED.key(report), encode(report))
        return int(self._producer.flush(DELIVER_S)) if reports else 0

    def close(self) -> None:
        """Give what is left a moment."""
        self._producer.flush(DELIVER_S)
