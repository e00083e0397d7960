"""All detectors with one state per detector and message key."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.contract import Finding
from streams.detector import Detector, Tick


@dataclass(slots=True)
class Slot:
    """The state of one detector for one key."""

    detector: Detector[Any]
    key: str
    state: Any
    latest_us: int = 0
    """Ticks are never earlier than the messages before them."""
    looked_us: int = 0
    """When the sweep first saw it without any message: it was restored then, or a little before."""


@dataclass(slots=True)
class Bank:
    """Feeds messages to the detectors that read their topic.

    Compacted topics (placements, cables) are *told* to every bank, whoever owns the key: they create no
    state, and a state that is created later hears the last of them first.
    """

    detectors: Sequence[Detector[Any]]
    mend: "Callable[[Slot, Message | Tick, Exception], list[Finding]] | None" = None
    """Gives a slot whose detector raised another state, and what that finds. None: the error goes on its way."""
    slots: dict[tuple[str, str], Slot] = field(default_factory=dict)
    _readers: dict[str, list[Detector[Any]]] = field(default_factory=dict)
    _told: dict[str, dict[str, Message]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for detector in self.detectors:
            for topic in detector.topics:
                self._readers.setdefault(topic.name, []).append(detector)

    def topics(self) -> list[Topic[Any]]:
        """What the detectors read, each topic once."""
        return list({t.name: t for d in self.detectors for t in d.topics}.values())

    def readers(self, topic: Topic[Any]) -> Sequence[Detector[Any]]:
        """The detectors that read a topic."""
        return self._readers.get(topic.name, ())

    def feed(self, topic: Topic[Any], message: Message) -> list[Finding]:
        """Hand a message to every detector that reads its topic."""
        if topic.compacted:
            return self._tell(topic, message)
        out: list[Finding] = []
        if isinstance(message, GpuScrape) and message.part:
            return out  # the whole scrape follows under the same time
        key = topic.key(message)
        ts_us = message.ts_us
        for detector in self._readers.get(topic.name, ()):
            slot = self.slots.get((detector.name, key))
            if slot is None:
                slot = self.put(detector, key, detector.fresh())
                out += self.catch_up(slot)
            found = self._step(slot, message)
            if ts_us > slot.latest_us:
                slot.latest_us = ts_us
            if found:
                out += found
        return out

    def tick(self, ts_us: int, slots: Iterable[Slot] | None = None, spoke: list[Slot] | None = None) -> list[Finding]:
        """Tell the time to all states, or to some. `spoke` gets those that found something."""
        out: list[Finding] = []
        for slot in list(self.slots.values() if slots is None else slots):
            found = self._step(slot, Tick(max(ts_us, slot.latest_us)))
            if found:
                out += found
                if spoke is not None:
                    spoke.append(slot)
        return out

    def put(self, detector: Detector[Any], key: str, state: Any) -> Slot:
        """Set the state of a key, as restored from what was kept."""
        slot = self.slots[(detector.name, key)] = Slot(detector, key, state)
        return slot

    def catch_up(self, slot: Slot) -> list[Finding]:
        """Tell a state that is new here the last of what was told."""
        out: list[Finding] = []
        for told in self.standing(slot):
            out += self._step(slot, told)
        return out

    def standing(self, slot: Slot) -> list[Message]:
        """The last that was told of a slot's key."""
        topics = [topic.name for topic in slot.detector.topics if topic.compacted]
        return [self._told[name][slot.key] for name in topics if slot.key in self._told.get(name, {})]

    def _tell(self, topic: Topic[Any], message: Message) -> list[Finding]:
        out: list[Finding] = []
        readers = self._readers.get(topic.name, ())
        if not readers:
            return out
        key = topic.key(message)
        self._told.setdefault(topic.name, {})[key] = message
        for detector in readers:
            slot = self.slots.get((detector.name, key))
            if slot is not None:
                out += self._step(slot, message)
        return out

    def _step(self, slot: Slot, message: Message | Tick) -> list[Finding]:
        try:
            slot.state, found = slot.detector.step(slot.state, (message,))
        except Exception as error:
            if self.mend is None:
                raise
            return self.mend(slot, message, error)
        return found
