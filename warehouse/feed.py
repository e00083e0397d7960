"""Reading Kafka by hand: every partition from the offset that the warehouse holds; no consumer group's offsets."""

import logging
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from collectors.contract.kafka import KafkaClient
from warehouse.offsets import Offsets, Partition, Stored
from warehouse.start import start_of

ANSWER_S = 10.0
Tell = Callable[[str], None]

CONSUMER = {
    "group.id": "lockstep-load",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "auto.offset.reset": "error",
    "enable.partition.eof": "true",
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": "200",
    "queued.max.messages.kbytes": "65536",
}


class Arrived(NamedTuple):
    """One message as it came; `value` is None for the end of a key in a compacted topic."""

    topic: str
    partition: int
    offset: int
    value: bytes | None


class Feed:
    """All partitions of some topics. `stored` is where the warehouse stands; `ends` where each partition ran out."""

    def __init__(
        self, client: KafkaClient, topics: Iterable[str], stored: Offsets, tell: Tell, logger: logging.Logger
    ) -> None:
        common = client.librdkafka() | {"error_cb": self._on_error}
        self._consumer = Consumer(common | CONSUMER, logger=logger)
        admin: dict[str, str | int | float | bool] = {**client.librdkafka()}
        self._admin = AdminClient(admin, logger=logger)
        self._bootstrap = client.bootstrap
        self._wanted = tuple(topics)
        self._stored = stored
        self._tell = tell
        self._away = False
        self._missing: set[str] = set()
        self.ids: dict[str, str | None] = {}
        self.assigned: set[Partition] = set()
        self.ends: dict[Partition, int] = {}

    def refresh(self) -> None:
        """Pick up topics and partitions that are new. Raises `KafkaException` when Kafka does not answer."""
        known = self._consumer.list_topics(timeout=ANSWER_S).topics
        there = [name for name in self._wanted if name in known and known[name].partitions]
        missing = set(self._wanted) - set(there)
        if missing - self._missing:
            self._tell(f"topics not there yet: {', '.join(sorted(missing))}; `lockstep topics` makes them")
        self._missing = missing
        fresh = [
            (name, partition)
            for name in there
            for partition in known[name].partitions
            if (name, partition) not in self.assigned
        ]
        if not fresh:
            return
        self.ids |= self._topic_ids(sorted({name for name, _ in fresh}))
        self._consumer.incremental_assign([self._start(at) for at in fresh])
        self.assigned |= set(fresh)

    def take(self, most: int, wait_s: float) -> list[Arrived]:
        """Messages as they came, at most `most`; none after `wait_s` without any."""
        arrived = []
        for record in self._consumer.consume(most, wait_s):
            error = record.error()
            one = Arrived(record.topic() or "", _number(record.partition()), _number(record.offset()), record.value())
            if error is None:
                arrived.append(one)
            else:
                self._event(error, one)
        if arrived:
            self._away = False
        return arrived

    def behind(self) -> int:
        """Messages that the broker has and the partitions have not read, as last heard; -1: not heard."""
        total = 0
        positions = self._consumer.position([TopicPartition(*at) for at in sorted(self.assigned)])
        for there in positions:
            try:
                _, high = self._consumer.get_watermark_offsets(there, cached=True)
            except KafkaException:
                return -1
            if there.offset >= 0 and high >= 0:
                total += max(0, high - there.offset)
        return total

    def exhausted(self) -> bool:
        """Whether every partition has been read to an end."""
        return self.assigned <= self.ends.keys()

    def close(self) -> None:
        """Leave Kafka."""
        self._consumer.close()

    def _start(self, at: Partition) -> TopicPartition:
        low, high = self._consumer.get_watermark_offsets(TopicPartition(*at), timeout=ANSWER_S)
        start = start_of(at, self._stored.get(at), self.ids.get(at[0]), low, high)
        if start.told:
            self._tell(start.told)
        return TopicPartition(*at, start.offset)

    def _topic_ids(self, names: list[str]) -> dict[str, str | None]:
        described = self._admin.describe_topics(TopicCollection(names), request_timeout=ANSWER_S)
        return {name: str(future.result().topic_id) for name, future in described.items()}

    def _event(self, error: KafkaError, record: Arrived) -> None:
        at = (record.topic, record.partition)
        match error.code():
            case KafkaError._PARTITION_EOF:
                self.ends[at] = record.offset
            case KafkaError._AUTO_OFFSET_RESET | KafkaError.OFFSET_OUT_OF_RANGE:
                self._begin_again(at)
            case KafkaError.UNKNOWN_TOPIC_OR_PART | KafkaError._UNKNOWN_PARTITION | KafkaError.UNKNOWN_TOPIC_ID:
                self._drop(at)
            case _:
                self._on_error(error)

    def _begin_again(self, at: Partition) -> None:
        """The offset is not in Kafka any more: look where the partition begins now."""
        self.ids |= self._topic_ids([at[0]])
        there = self._consumer.position([TopicPartition(*at)])[0].offset
        if there >= 0:
            former = self._stored.get(at)
            self._stored = {**self._stored, at: Stored(there, former.topic_id if former else None)}
        start = self._start(at)
        self._consumer.incremental_unassign([TopicPartition(*at)])
        self._consumer.incremental_assign([start])

    def _drop(self, at: Partition) -> None:
        """The topic is gone; should it come back it is taken up as new."""
        if at in self.assigned:
            self._tell(f"{at[0]}[{at[1]}] is gone from Kafka")
            self._consumer.incremental_unassign([TopicPartition(*at)])
            self.assigned.discard(at)

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._RESOLVE):
            if not self._away:
                self._away = True
                self._tell(f"Kafka at {self._bootstrap} does not answer; waiting for it")
        elif error.code() != KafkaError._MAX_POLL_EXCEEDED:
            self._tell(f"Kafka: {error.str()}")


def _number(value: int | None) -> int:
    return -1 if value is None else value


def quiet_logger(tell: Tell) -> logging.Logger:
    """Takes librdkafka's lines; none below ERROR, and no two alike."""
    logger = logging.Logger("librdkafka", logging.CRITICAL)
    logger.addHandler(_Told(tell))
    return logger


class _Told(logging.Handler):
    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell
        self._last: Any = None

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text != self._last:
            self._last = text
            self._tell(text)
