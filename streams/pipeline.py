"""Detectors, correlator and node health as one pure thing: messages in, findings, incidents and health out."""

from collections.abc import Mapping, Sequence
from typing import Any

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.bank import Bank
from streams.contract import FINDINGS, INCIDENTS, NODE_HEALTH
from streams.correlation import Correlation, Output
from streams.detector import Detector
from streams.detectors.all import Choice
from streams.detectors.all import detectors as all_detectors
from streams.world import World

_OUTPUTS = frozenset(t.name for t in (FINDINGS, INCIDENTS, NODE_HEALTH))


class Pipeline:
    """What the stream app does, without Kafka, clock or disk. Replay, scoring and tests run this."""

    def __init__(
        self, detectors: Sequence[Detector[Any]] | None = None, choices: Mapping[str, Choice] | None = None
    ) -> None:
        """`choices`: of a limits file. `detectors`: those of the choices when None."""
        if detectors is None:
            detectors = all_detectors(choices)
        self.world = World()
        self.bank = Bank(detectors)
        self.correlation = Correlation(self.world, choices=choices or {})

    def feed(self, topic: Topic[Any], message: Message) -> list[Output]:
        """One message; what it brings about, in order. Findings, incidents and health fed in are ignored."""
        if topic.name in _OUTPUTS:
            return []
        self.world.learn(message)
        out: list[Output] = []
        for finding in self.bank.feed(topic, message):
            out.append((FINDINGS, finding))
            out += self.correlation.feed(finding)
        return out

    def tick(self, ts_us: int) -> list[Output]:
        """The time, in Unix microseconds: silence is judged, held incidents are told, cleared ones end."""
        out: list[Output] = []
        for finding in self.bank.tick(ts_us):
            out.append((FINDINGS, finding))
            out += self.correlation.feed(finding)
        return out + self.correlation.tick(ts_us)
