"""Nodes, devices and collectors that fall silent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec import field as kept_field

from collectors.contract.beat import Beat
from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import COLLECTOR_BEATS, FABRIC_SCRAPES, GPU_SCRAPES
from streams.contract import Evidence, Finding, Severity, Subject
from streams.detector import Tick
from streams.detectors.silence_limits import SilenceLimits
from streams.detectors.silence_rhythm import Rhythm
from streams.episodes import Episodes

Part = Literal["node", "device", "collector"]
NAME = "silence"


@dataclass(frozen=True, slots=True)
class Watched:
    """One kind of part: what it sends, who sent it, and how grave its silence is."""

    topic: Topic[Any]
    sends: str
    severity: Severity
    subject: Callable[[Any], Subject]
    interval_s: Callable[[Any], float | None] = lambda _: None


def _node(scrape: GpuScrape) -> Subject:
    return Subject(kind="node", id=scrape.node, node=scrape.node)


def _device(scrape: PortScrape) -> Subject:
    return Subject(kind="device", id=scrape.device, device=scrape.device, node=scrape.node)


def _collector(beat: Beat) -> Subject:
    return Subject(kind="collector", id=beat.collector)


WATCHED: dict[Part, Watched] = {
    "node": Watched(GPU_SCRAPES, "GPU scrape", "critical", _node),
    "device": Watched(FABRIC_SCRAPES, "port scrape", "warning", _device),
    "collector": Watched(COLLECTOR_BEATS, "beat", "warning", _collector, lambda beat: beat.interval_s),
}


class PartKept(Struct):
    """What outlives the process. It lags behind by at most `keep_every_us`; an edge brings it up to date."""

    cluster: str = "default"
    subject: Subject | None = None
    last_us: int = 0
    told_us: int = 0
    """The interval that the part itself tells; 0: it does not."""
    rhythm: Rhythm = kept_field(default_factory=Rhythm)
    episodes: Episodes = kept_field(default_factory=Episodes)


@dataclass(slots=True)
class PartState:
    """All of one part."""

    kept: PartKept = field(default_factory=PartKept)
    last_us: int = 0
    told_us: int = 0
    rhythm: Rhythm = field(default_factory=Rhythm)
    now_us: int = 0
    lag_us: int = 0
    """After a restore the last word may have been so much later than what was kept."""


class PartSilence:
    """Watches parts of one kind: a deadline after each message, judged by whatever comes next."""

    def __init__(self, part: Part, limits: SilenceLimits) -> None:
        self.limits = limits
        self.part = part
        self.watched = WATCHED[part]
        self.topics: tuple[Topic[Any], ...] = (self.watched.topic,)

    def fresh(self) -> PartState:
        """The state of a part never heard."""
        return PartState()

    def step(self, state: PartState, batch: Sequence[Message | Tick]) -> tuple[PartState, list[Finding]]:
        """Take messages and ticks of one part in arrival order."""
        out: list[Finding | None] = []
        for item in batch:
            if isinstance(item, Tick):
                state.now_us = max(state.now_us, item.ts_us)
                out.append(self._judge(state))
                if state.last_us and state.now_us >= state.last_us + self.limits.forgotten_us:
                    state = self.fresh()
            elif isinstance(item, self.watched.topic.type) and item.ts_us > state.last_us:
                out += self._hear(state, item)
        return state, [edge for edge in out if edge is not None]

    def keep(self, state: PartState) -> bytes | None:
        """Last word, rhythm and open episode; None for a part never heard."""
        return None if state.kept.subject is None else msgspec.msgpack.encode(state.kept)

    def restore(self, kept: bytes) -> PartState:
        """A part that fell silent while nobody listened is still found."""
        was = msgspec.msgpack.decode(kept, type=PartKept)
        state = PartState(kept=was, last_us=was.last_us, told_us=was.told_us, now_us=was.last_us)
        state.rhythm = Rhythm(list(was.rhythm.gaps))
        state.lag_us = 0 if was.episodes.open else self.limits.keep_every_us
        return state

    def limit_us(self, state: PartState) -> int:
        """How long the part may be silent."""
        learned = state.rhythm.interval_us(self.limits)
        if learned is None and not state.told_us:
            return self.limits.unlearned_us
        interval = max(learned or 0, state.told_us)
        return max(self.limits.least_us, int(self.limits.intervals * interval))

    def _hear(self, state: PartState, message: Message) -> list[Finding | None]:
        out: list[Finding | None] = []
        state.now_us = max(state.now_us, message.ts_us)
        if state.kept.subject is not None:
            out.append(self._judge(state))
            if not state.lag_us:
                state.rhythm.learn(self.limits, message.ts_us - state.last_us)
        state.lag_us = 0
        state.last_us = message.ts_us
        told_s = self.watched.interval_s(message)
        if told_s is not None and 0 < told_s < float("inf"):
            state.told_us = int(told_s * 1e6)
        state.kept.cluster = message.cluster
        state.kept.subject = self.watched.subject(message)
        if "part" in state.kept.episodes.open and state.last_us + self.limit_us(state) > state.now_us:
            words = f"{self.part} {state.kept.subject.id} reports again"
            out.append(state.kept.episodes.clear("part", message.ts_us, words))
            self._sync(state)
        elif message.ts_us >= state.kept.last_us + self.limits.keep_every_us:
            self._sync(state)
        return out

    def _sync(self, state: PartState) -> None:
        state.kept.last_us = state.last_us
        state.kept.told_us = state.told_us
        state.kept.rhythm = Rhythm(list(state.rhythm.gaps))

    def _judge(self, state: PartState) -> Finding | None:
        subject = state.kept.subject
        limit_us = self.limit_us(state)
        deadline_us = state.last_us + limit_us
        if subject is None or state.now_us < deadline_us + state.lag_us or "part" in state.kept.episodes.open:
            return None
        self._sync(state)
        interval_us = max(state.rhythm.interval_us(self.limits) or 0, state.told_us)
        rhythm = f"; it reports every {interval_us / 1e6:g} s" if interval_us else ""
        return state.kept.episodes.report(
            "part",
            Finding(
                cluster=state.kept.cluster,
                ts_us=deadline_us,
                detector=NAME,
                state="opened",
                subject=subject,
                episode_us=deadline_us,
                severity=self.watched.severity,
                cause=f"{self.part}_silent",
                value=limit_us / 1e6,
                limit=limit_us / 1e6,
                unit="s",
                summary=f"no {self.watched.sends} of {self.part} {subject.id} for {limit_us / 1e6:g} s{rhythm}",
                evidence=[Evidence(what=f"last {self.watched.sends}", ts_us=state.last_us)],
            ),
        )
