"""The frame of the fabric's detectors: one state for each device, judged scrape by scrape."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec import field as kept_field

from collectors.contract.fabric import PortScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import FABRIC_SCRAPES
from streams.contract import Finding
from streams.counter_columns import Ledger
from streams.detector import Tick
from streams.detectors.fabric_ports import replaced
from streams.episodes import Episodes


class DeviceKept(Struct):
    """What outlives the process, of every fabric detector."""

    episodes: Episodes = kept_field(default_factory=Episodes)
    edge_us: int = 0
    """Time of the message that brought the last edge: older ones, read again, bring none."""


K = TypeVar("K", bound=DeviceKept)


@dataclass(slots=True)
class DeviceState(Generic[K]):
    """All of one device; each detector says what it keeps and adds what it rebuilds."""

    kept: K
    ledger: Ledger = field(default_factory=Ledger)
    muted_us: int = 0
    """After a restore: messages before it only rebuild what was read."""


S = TypeVar("S", bound=DeviceState[Any])


class FabricDetector(ABC, Generic[S]):
    """Judges every scrape of a device as it comes; ticks say nothing, for silence is no proof.

    `keep` has open episodes and what must be known for longer than the minutes that are read back.
    """

    topics: tuple[Topic[Any], ...] = (FABRIC_SCRAPES,)

    @abstractmethod
    def fresh(self) -> S:
        """The state of a device never seen."""

    @abstractmethod
    def _scrape(self, state: S, scrape: PortScrape) -> Iterable[Finding]:
        """The edges that a scrape brings."""

    def step(self, state: S, batch: Sequence[Message | Tick]) -> tuple[S, list[Finding]]:
        """Take messages of one device in arrival order."""
        out: list[Finding] = []
        for item in batch:
            edges = list(self._take(state, item))
            if edges:
                state.kept.edge_us = max(state.kept.edge_us, item.ts_us)
                out += edges
        return state, out

    def keep(self, state: S) -> bytes | None:
        """None where nothing is open or worth keeping."""
        return None if state.kept == type(state.kept)() else msgspec.msgpack.encode(state.kept)

    def restore(self, kept: bytes) -> S:
        """What was kept, at once; baselines and rates come back with the last minutes of the topic."""
        state = self.fresh()
        state.kept = msgspec.msgpack.decode(kept, type=type(state.kept))
        state.muted_us = state.kept.edge_us
        return state

    def _take(self, state: S, item: Message | Tick) -> Iterable[Finding]:
        return [*self._succeed(state, item), *self._scrape(state, item)] if isinstance(item, PortScrape) else ()

    def _succeed(self, state: S, scrape: PortScrape) -> list[Finding]:
        """End the episodes of ports that were split or joined, and let go of what is remembered of those."""
        if not state.kept.episodes.open or scrape.ts_us < state.muted_us:
            return []
        edges, gone = replaced(state.kept.episodes, scrape)
        if gone:
            self._forget(state, gone)
        return edges

    @abstractmethod
    def _forget(self, state: S, ports: set[str]) -> None:
        """Let go of what is kept of these ports: they are not there any more."""
