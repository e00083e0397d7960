"""Follows topics in a thread of its own: for what people look at while it happens."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from collectors.contract.kafka import KafkaClient
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from infra.kafka.past import spans
from infra.topics import admin_client, existing

PROBE_S = 5.0


class Listener(threading.Thread):
    """A consumer without a group: each message of `topics` to `take`.

    `since_us`: topic name -> from when on; a topic that it does not name is read from its start.
    """

    def __init__(
        self,
        client: KafkaClient,
        topics: Sequence[Topic[Any]],
        take: Callable[[Message], None],
        since_us: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(name="listener", daemon=True)
        self._client = client
        self._topics = {topic.name: topic for topic in topics}
        self._take = take
        self._since_us = dict(since_us or {})
        self._end = threading.Event()
        self.unreadable = 0
        self.away_since: float | None = None
        """`time.monotonic()` from when on no broker answered; None: they answer."""
        self.caught_up = threading.Event()
        """What stood in the topics when it began has been read."""

    def run(self) -> None:
        """Until `close`."""
        from confluent_kafka import Consumer, TopicPartition

        there = existing(admin_client(self._client))
        quiet = {"group.id": "lockstep-view", "enable.auto.commit": False, "log_level": 0, "error_cb": self._trouble}
        consumer = Consumer({**self._client.librdkafka(), **quiet})
        partitions = [TopicPartition(n, p) for n, t in self._topics.items() for p in range(there.get(n, t.partitions))]
        begin = spans(consumer, partitions, self._since_us)
        consumer.assign([TopicPartition(name, number, start) for (name, number), (start, _) in begin.items()])
        left = {key for key, (start, end) in begin.items() if start < end}
        probed = time.monotonic()
        try:
            while not self._end.is_set():
                records = consumer.consume(500, timeout=0.2)
                for record in records:
                    self._hear(record)
                if left:
                    reached = consumer.position(consumer.assignment())
                    left -= {(r.topic, r.partition) for r in reached if r.offset >= begin[r.topic, r.partition][1]}
                if not left:
                    self.caught_up.set()
                if records:
                    self.away_since = None
                elif self.away_since is not None and time.monotonic() - probed > PROBE_S:
                    probed = time.monotonic()
                    self._probe(consumer)
        finally:
            consumer.close()

    def close(self) -> None:
        """Stop reading."""
        self._end.set()
        self.join(10)

    def _hear(self, record: Any) -> None:
        value, name = record.value(), record.topic()
        if record.error() is not None or value is None or name is None:
            return
        try:
            message = self._topics[name].decode(value)
        except msgspec.MsgspecError:
            self.unreadable += 1
            return
        self._take(message)

    def _trouble(self, error: Any) -> None:
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._ALL_BROKERS_DOWN and self.away_since is None:
            self.away_since = time.monotonic()

    def _probe(self, consumer: Any) -> None:
        from confluent_kafka import KafkaException

        try:
            consumer.list_topics(timeout=1.0)
        except KafkaException:
            return
        self.away_since = None
