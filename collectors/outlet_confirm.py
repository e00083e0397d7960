"""Messages that their sender waits for: with Kafka, or told as not; never on disk."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from collectors.contract.kafka import KafkaClient
from collectors.contract.message import Message
from collectors.contract.topic import Topic, encode
from collectors.outlet_log import limited_logger
from collectors.outlet_producer import producer_config
from collectors.settings import CollectorSettings

CONFIRM_S = 10.0
"""How long Kafka may take: senders give up on an answer after 30 s (Prometheus, `remote_timeout`)."""
LINGER_MS = 5
POLL_S = 0.2

Messages = Sequence[tuple[Topic[Any], Message]]


@dataclass(slots=True)
class HandedOver:
    """What became of one topic's messages. One that failed comes again from its sender, and is offered again."""

    offered: int = 0
    delivered: int = 0
    refused: int = 0
    """Kafka takes them never: nobody keeps them."""
    failed: int = 0


def connect_confirmed(client: KafkaClient, settings: CollectorSettings, name: str) -> Producer:
    """A producer that waits little for company and gives up after `CONFIRM_S`. Raises `KafkaException`."""
    config = {
        **producer_config(client, settings, f"{name}-confirmed"),
        "linger.ms": LINGER_MS,
        "message.timeout.ms": int(CONFIRM_S * 1000),
    }
    return Producer(config, logger=limited_logger("lockstep.kafka"))


class _Handover:
    """Messages handed over together. Told from the polling thread, awaited in the loop."""

    def __init__(self, count: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[str | None] = self._loop.create_future()
        self._left = count
        self._failure: str | None = None
        self._lock = threading.Lock()

    def tell(self, failure: str | None) -> None:
        """One message is with Kafka, or why not."""
        with self._lock:
            self._left -= 1
            self._failure = failure or self._failure
            if self._left:
                return
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(self._failure)


class Confirmer:
    """A second producer, made when it is first needed, and the thread that hears what Kafka says."""

    def __init__(self, make_producer: Callable[[], Producer], refused: frozenset[int]) -> None:
        """`refused`: error codes of what Kafka will not take however often it is tried."""
        self._make_producer = make_producer
        self._refused = refused
        self._producer: Producer | None = None
        self._poller: threading.Thread | None = None
        self._closed = threading.Event()
        self._fatal = False
        self._log = limited_logger("lockstep.collect")
        self._counting = threading.Lock()
        self._topics: dict[str, HandedOver] = {}

    @property
    def refused(self) -> int:
        """Messages that will never arrive, of all topics."""
        return sum(sums.refused for sums in self.by_topic().values())

    def by_topic(self) -> dict[str, HandedOver]:
        """What became of the messages so far, by topic."""
        with self._counting:
            return {topic: replace(sums) for topic, sums in self._topics.items()}

    async def deliver(self, messages: Messages) -> bool:
        """True once Kafka has all of them. False: some of them it has not, and nothing keeps them.

        What Kafka refuses for good is counted and logged, and holds nobody up.
        """
        if not messages:
            return True
        handover = _Handover(len(messages))
        for topic, _ in messages:
            self._count(topic.name, offered=1)
        try:
            producer = self._connected()
        except KafkaException as why:
            for topic, _ in messages:
                self._count(topic.name, failed=1)
            self._log.warning("no producer: %s", why.args[0].str())
            return False
        for topic, message in messages:
            self._produce(producer, topic, message, handover)
        try:
            failure = await asyncio.wait_for(handover.ended, CONFIRM_S + 5.0)
        except TimeoutError:
            failure = "no word from Kafka"
        if failure is not None:
            self._log.warning("not delivered, the sender keeps it: %s", failure)
        return failure is None

    def close(self) -> None:
        """What Kafka has not taken by now is not acknowledged to anybody."""
        self._closed.set()
        if self._poller is not None:
            self._poller.join()
        if self._producer is not None:
            self._producer.purge()
            self._producer.poll(0)

    def _connected(self) -> Producer:
        if self._producer is None or self._fatal:
            # A producer that lost its idempotence cannot go on.
            if self._producer is not None:
                self._producer.purge()
                self._producer.flush(1.0)
            self._fatal = False
            self._producer = self._make_producer()
        if self._poller is None:
            self._poller = threading.Thread(target=self._poll, name="confirmer", daemon=True)
            self._poller.start()
        return self._producer

    def _produce(self, producer: Producer, topic: Topic[Any], message: Message, handover: _Handover) -> None:
        def told(error: KafkaError | None, _: Any) -> None:
            handover.tell(self._failure(topic.name, error))

        try:
            producer.produce(topic.name, value=encode(message), key=topic.key(message).encode(), on_delivery=told)
        except BufferError:
            self._count(topic.name, failed=1)
            handover.tell(f"{topic.name}: too much waits for Kafka")
        except KafkaException as why:
            told(why.args[0], None)

    def _failure(self, topic: str, error: KafkaError | None) -> str | None:
        if error is None:
            self._count(topic, delivered=1)
            return None
        if error.code() in self._refused:
            self._count(topic, refused=1)
            self._log.error("%s: Kafka refuses a message: %s", topic, error.str())
            return None
        self._count(topic, failed=1)
        self._fatal = self._fatal or error.fatal() or error.code() == KafkaError._FATAL
        return f"{topic}: {error.str()}"

    def _count(self, topic: str, offered: int = 0, delivered: int = 0, refused: int = 0, failed: int = 0) -> None:
        """From the loop and from the polling thread."""
        with self._counting:
            sums = self._topics.setdefault(topic, HandedOver())
            sums.offered += offered
            sums.delivered += delivered
            sums.refused += refused
            sums.failed += failed

    def _poll(self) -> None:
        while not self._closed.is_set():
            producer = self._producer
            if producer is not None:
                producer.poll(POLL_S)
