"""Where the app's messages go: acknowledged before anything is remembered, and each edge once."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from collectors.contract.beat import Rejected
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import REJECTED
from streams.contract import Finding, Incident, NodeHealth, finding_key
from streams.metrics import Metrics

log = logging.getLogger("lockstep.stream")

MOST_EDGES = 200_000
RAW_LIMIT = 64 * 1024


def edge(message: Message) -> Hashable:
    """What makes a message the same one again: reprocessing after a restart must not send it twice."""
    if isinstance(message, Finding):
        return ("finding", finding_key(message), message.state, message.ts_us)
    if isinstance(message, Incident):
        return ("incident", message.cluster, message.id, message.state, message.ts_us)
    if isinstance(message, NodeHealth):
        return ("health", message.cluster, message.node, message.state, message.score, message.ts_us)
    return None


@dataclass(slots=True)
class RejectLimit:
    """At most `most` reports of one source in `window_s`; the rest are counted and told with the next."""

    most: int = 20
    window_s: float = 60.0
    _since: dict[str, float] = field(default_factory=dict)
    _sent: dict[str, int] = field(default_factory=dict)
    _held: dict[str, int] = field(default_factory=dict)

    def admit(self, source: str, now_s: float) -> int | None:
        """How many went unreported before this one; None: do not report this one."""
        if now_s - self._since.get(source, float("-inf")) >= self.window_s:
            self._since[source], self._sent[source] = now_s, 0
        if self._sent[source] >= self.most:
            self._held[source] = self._held.get(source, 0) + 1
            return None
        self._sent[source] += 1
        return self._held.pop(source, 0)


@dataclass(slots=True)
class Outbox:
    """Sends findings, incidents, health and rejects. `send` returns only when the broker has the message."""

    producer: AIOKafkaProducer
    metrics: Metrics
    limit: RejectLimit = field(default_factory=RejectLimit)
    _edges: "OrderedDict[Hashable, None]" = field(default_factory=OrderedDict)
    _order: asyncio.Lock = field(default_factory=asyncio.Lock)

    def remember(self, messages: Iterable[Message]) -> None:
        """Edges that stand in Kafka already."""
        for message in messages:
            self._note(edge(message))

    async def send(self, messages: Iterable[tuple[Topic[Any], Message]]) -> None:
        """In order, each edge once; waits out a broker that is away."""
        async with self._order:
            for topic, message in messages:
                name = edge(message)
                if name in self._edges:
                    continue
                await self._deliver(topic, message)
                self._note(name)
                self.metrics.sent.labels(topic.name).inc()

    async def reject(
        self, source: str, partition: int | None, offset: int | None, raw: bytes, why: str, by: str = ""
    ) -> None:
        """Bytes that could not be read, or judged by one detector, to `rejected.v1` under their rate limit."""
        if not by:
            self.metrics.rejected.labels(source).inc()
        unreported = self.limit.admit(f"{source} {by}", time.monotonic())
        if unreported is None:
            return
        place = "".join(f"{mark}{n}" for mark, n in (("/", partition), ("@", offset)) if n is not None)
        log.warning("%s%s cannot be %s: %s", source, place, "judged" if by else "read", why)
        message = Rejected(
            ts_us=time.time_ns() // 1000,
            source=source,
            partition=partition,
            offset=offset,
            why=why,
            raw=raw[:RAW_LIMIT],
            by="stream",
            unreported=unreported,
        )
        await self._deliver(REJECTED, message)

    async def _deliver(self, topic: Topic[Any], message: Message) -> None:
        value, key = topic.encode(message), topic.key(message).encode()
        wait_s = 0.5
        while True:
            try:
                await self.producer.send_and_wait(topic.name, value, key=key)
            except KafkaError as why:
                log.warning("%s: not sent yet: %s", topic.name, why)
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, 10.0)
            else:
                return

    def _note(self, name: Hashable) -> None:
        if name is None:
            return
        self._edges[name] = None
        self._edges.move_to_end(name)
        if len(self._edges) > MOST_EDGES:
            self._edges.popitem(last=False)
