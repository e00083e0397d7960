"""A pipeline that is stopped and started again as a worker is: from what it kept, then from the last minutes."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.job import JobEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.bank import Bank
from streams.correlation import Correlation, Output
from streams.detectors.all import Choice
from streams.outbox import edge
from streams.pipeline import Pipeline
from streams.warmup import WINDOW_MS
from streams.world import World

SHORT_US = 3 * 60 * 1_000_000
"""How far back the topics are read that `WINDOW_MS` does not name."""


@dataclass(slots=True)
class Restarting:
    """Messages in, outputs out; `restart` between any two. What was sent once is not sent again."""

    choices: Mapping[str, Choice] | None = None
    pipeline: Pipeline = field(init=False)
    _back: dict[str, deque[tuple[int, int, Topic[Any], Message]]] = field(default_factory=dict)
    _told: dict[tuple[str, str], tuple[Topic[Any], Message]] = field(default_factory=dict)
    _life: list[JobEvent] = field(default_factory=list)
    """Of the jobs; the world is read further back than the states."""
    _rows: dict[str, bytes] = field(default_factory=dict)
    _sent: set[object] = field(default_factory=set)
    _taken: int = 0

    def __post_init__(self) -> None:
        self.pipeline = Pipeline(choices=self.choices)

    def feed(self, topic: Topic[Any], message: Message) -> list[Output]:
        """As `Pipeline.feed`."""
        if topic.compacted:
            self._told[topic.name, topic.key(message)] = topic, message
        else:
            if isinstance(message, JobEvent) and message.kind != "heartbeat":
                self._life.append(message)
            self._taken += 1
            back = self._back.setdefault(topic.name, deque())
            back.append((message.ts_us, self._taken, topic, message))
            window_us = WINDOW_MS[topic.name] * 1000 if topic.name in WINDOW_MS else SHORT_US
            while back[0][0] < message.ts_us - window_us:
                back.popleft()
        return self._new(self.pipeline.feed(topic, message))

    def tick(self, ts_us: int) -> list[Output]:
        """As `Pipeline.tick`."""
        return self._new(self.pipeline.tick(ts_us))

    def restart(self) -> None:
        """Stop, keeping what a worker keeps, and start."""
        bank = self.pipeline.bank
        kept = {name: slot.detector.keep(slot.state) for name, slot in bank.slots.items()}
        self._keep()
        self.pipeline = Pipeline(choices=self.choices)
        world, bank = self.pipeline.world, self.pipeline.bank
        for topic, message in self._told.values():
            world.learn(message)
            bank.feed(topic, message)
        for event in self._life:
            world.learn(event)
        self._restore(bank, kept)
        for _, _, topic, message in sorted((row for back in self._back.values() for row in back), key=lambda r: r[:2]):
            world.learn(message)
            bank.feed(topic, message)
        self.pipeline.correlation = self._correlation(world)

    def _restore(self, bank: Bank, kept: Mapping[tuple[str, str], bytes | None]) -> None:
        by_name = {detector.name: detector for detector in bank.detectors}
        for (name, key), raw in kept.items():
            if raw is not None:
                bank.catch_up(bank.put(by_name[name], key, by_name[name].restore(raw)))

    def _correlation(self, world: World) -> Correlation:
        correlation = Correlation(world, choices=self.choices or {})
        correlation.restore(dict(self._rows))
        return correlation

    def _keep(self) -> None:
        for row, raw in self.pipeline.correlation.take_changes().items():
            if raw is None:
                self._rows.pop(row, None)
            else:
                self._rows[row] = raw

    def _new(self, outputs: list[Output]) -> list[Output]:
        self._keep()
        out: list[Output] = []
        for topic, message in outputs:
            name = edge(message)
            if name not in self._sent:
                self._sent.add(name)
                out.append((topic, message))
        return out
