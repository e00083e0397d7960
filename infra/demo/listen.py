"""Reads what the live view and the scoreboard need from Kafka, from the demo's start on."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from collectors.contract.kafka import KafkaClient
from collectors.contract.message import Message
from collectors.contract.topic import Topic


class Listener(threading.Thread):
    """A consumer without a group: every partition of `topics` from its start, each message to `take`."""

    def __init__(
        self,
        client: KafkaClient,
        topics: Sequence[Topic[Any]],
        take: Callable[[Message], None],
    ) -> None:
        super().__init__(name="listener", daemon=True)
        self._client = client
        self._topics = {topic.name: topic for topic in topics}
        self._take = take
        self._end = threading.Event()
        self.unreadable = 0

    def run(self) -> None:
        """Until `close`."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        consumer = Consumer(
            {
                **self._client.librdkafka(),
                "group.id": "lockstep-view",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        consumer.assign(
            [
                TopicPartition(topic.name, partition, OFFSET_BEGINNING)
                for topic in self._topics.values()
                for partition in range(topic.partitions)
            ]
        )
        try:
            while not self._end.is_set():
                for record in consumer.consume(500, timeout=0.2):
                    value, name = record.value(), record.topic()
                    if record.error() is not None or value is None or name is None:
                        continue
                    try:
                        message = self._topics[name].decode(value)
                    except msgspec.MsgspecError:
                        self.unreadable += 1
                        continue
                    self._take(message)
        finally:
            consumer.close()

    def close(self) -> None:
        """Stop reading."""
        self._end.set()
        self.join(10)
