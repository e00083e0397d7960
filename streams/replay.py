"""Recorded messages through the pipeline: merged by their time, ticked by it, no Kafka."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.envelope import Enveloped, EnvelopeError, read_lines
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import COLLECTOR_TOPICS
from streams.contract import STREAM_TOPICS
from streams.correlation import Output
from streams.pipeline import Pipeline
from streams.ticks import EventClock

KNOWN: dict[str, Topic[Any]] = {t.name: t for t in (*COLLECTOR_TOPICS, *STREAM_TOPICS)}
REORDER = 100_000
"""Messages of one file that may stand out of order: Kafka is read partition by partition."""


@dataclass(slots=True)
class Recording:
    """Files of envelopes. `errors` fills while they are read; `read` counts the good messages."""

    files: list[tuple[str, Iterable[bytes]]]
    errors: list[EnvelopeError] = field(default_factory=list)
    read: int = 0

    def messages(self) -> Iterator[tuple[Topic[Any], Message]]:
        """All messages of all files by event time; equal times keep the order of the files and lines."""
        streams = [self._ordered(name, lines) for name, lines in self.files]
        for _, topic, message in heapq.merge(*streams, key=lambda m: m[0]):
            self.read += 1
            yield topic, message

    def _ordered(self, name: str, lines: Iterable[bytes]) -> Iterator[tuple[int, Topic[Any], Message]]:
        heap: list[tuple[int, int, Enveloped]] = []
        for number, item in enumerate(read_lines(lines, KNOWN, name)):
            if isinstance(item, EnvelopeError):
                self.errors.append(item)
                continue
            heapq.heappush(heap, (item.message.ts_us, number, item))
            if len(heap) > REORDER:
                ts_us, _, first = heapq.heappop(heap)
                yield ts_us, first.topic, first.message
        while heap:
            ts_us, _, first = heapq.heappop(heap)
            yield ts_us, first.topic, first.message


def replay(messages: Iterable[tuple[Topic[Any], Message]], pipeline: Pipeline) -> Iterator[Output]:
    """Feed messages in order of time, with a tick each second of it; ends with the last message's second."""
    clock = EventClock()
    for topic, message in messages:
        for now_us in clock.advance(message.ts_us):
            yield from pipeline.tick(now_us)
        yield from pipeline.feed(topic, message)
