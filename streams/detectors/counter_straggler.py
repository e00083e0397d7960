"""Slow GPUs from counters alone: one that stands apart from the others of its job on the node, at a lower clock and
yet busier. For jobs that tell no steps; where steps or a reason are told, those say more."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES
from streams.contract import Evidence, Finding
from streams.detector import Tick
from streams.detectors.counter_straggler_limits import CounterStragglerLimits
from streams.detectors.counter_straggler_window import CLOCK, Stand, Window, may_differ, stands
from streams.episodes import Episodes
from streams.gpus import gpu_subject, is_old
from streams.successors import Slots

DETECTOR = "counter_straggler"
MOST = 256
_NAMES = {
    "100": ("SM clock", "MHz"),
    "155": ("power", "W"),
    "150": ("GPU temperature", "C"),
    "1004": ("tensor activity", "fraction"),
    "1005": ("memory activity", "fraction"),
}


@dataclass(slots=True)
class Part:
    """A GPU that stands apart. Windows that cannot tell count for nothing."""

    slow_us: int = 0
    """Time that it stood apart without a good window."""
    fine_us: int = 0


@dataclass(slots=True)
class Voice:
    """What one source has told."""

    last_us: int | None = None
    window: Window = field(default_factory=Window)
    parts: dict[str, Part] = field(default_factory=dict)


@dataclass(slots=True)
class CounterStragglerState:
    """One node. Only the episodes outlive the process."""

    episodes: Episodes = field(default_factory=Episodes)
    voices: dict[str, Voice] = field(default_factory=dict)
    slots: Slots = field(default_factory=Slots)


class CounterStragglerDetector:
    """One episode a GPU."""

    name = DETECTOR
    topics: tuple[Topic[Any], ...] = (GPU_SCRAPES,)

    def __init__(self, limits: CounterStragglerLimits) -> None:
        self._limits = limits

    def fresh(self) -> CounterStragglerState:
        """A node never seen."""
        return CounterStragglerState()

    def step(
        self, state: CounterStragglerState, batch: Sequence[Message | Tick]
    ) -> tuple[CounterStragglerState, list[Finding]]:
        """Ticks bring nothing about: silence says nothing of a GPU's speed."""
        out: list[Finding | None] = []
        for message in batch:
            if not isinstance(message, GpuScrape):
                continue
            voice = state.voices.get(message.source)
            if voice is None:
                voice = state.voices[message.source] = Voice(parts={name: Part() for name in state.episodes.open})
            if voice.last_us is not None and is_old(message.ts_us, voice.last_us):
                continue
            if voice.last_us is not None and message.ts_us < voice.last_us:
                voice.window = Window()
            voice.last_us = message.ts_us
            if state.episodes.open:
                for uuid, heir in state.slots.heirs(message, state.episodes.open.values()).items():
                    for one in state.voices.values():
                        one.parts.pop(uuid, None)
                    out.append(state.episodes.replace(uuid, message.ts_us, heir))
            if voice.window.add(message, self._limits):
                if voice.parts or may_differ(voice.window, self._limits):
                    self._judge(state, voice, message, out)
                voice.window = Window()
        return state, [edge for edge in out if edge is not None]

    def keep(self, state: CounterStragglerState) -> bytes | None:
        """The open episodes."""
        return msgspec.msgpack.encode(state.episodes) if state.episodes.open else None

    def restore(self, kept: bytes) -> CounterStragglerState:
        """Open episodes wait for good windows."""
        return CounterStragglerState(msgspec.msgpack.decode(kept, type=Episodes))

    def _judge(self, state: CounterStragglerState, voice: Voice, scrape: GpuScrape, out: list[Finding | None]) -> None:
        window, limits, episodes = voice.window, self._limits, state.episodes
        span_us = (window.last_us - window.first_us) * limits.window // (limits.window - 1)
        for one in stands(window, limits):
            gpu = window.gpus[one.row]
            part = voice.parts.get(gpu.uuid)
            if one.is_slow or one.is_starved:
                if part is None:
                    if len(voice.parts) >= MOST:
                        continue
                    part = voice.parts[gpu.uuid] = Part()
                part.slow_us, part.fine_us = part.slow_us + span_us, 0
                if part.slow_us >= limits.for_us:
                    out.append(episodes.report(gpu.uuid, _finding(scrape, one, part, limits)))
            elif part is not None and one.is_fine:
                part.slow_us, part.fine_us = 0, part.fine_us + span_us
                if gpu.uuid not in episodes.open:
                    del voice.parts[gpu.uuid]
                elif part.fine_us >= limits.for_us:
                    del voice.parts[gpu.uuid]
                    summary = f"{_label(scrape, one)} is like the others of its job again"
                    out.append(episodes.clear(gpu.uuid, scrape.ts_us, summary))


def _finding(scrape: GpuScrape, one: Stand, part: Part, limits: CounterStragglerLimits) -> Finding:
    gpu = scrape.gpus[one.row]
    clock = one.own[CLOCK] / one.others[CLOCK]
    if one.is_slow:
        words = f"runs at {clock:.1%} of the clock of the others of its job and is as busy or busier: they wait for it"
        action = "look for a slow rank of the job; move the job off this GPU if it stays slow, and have it diagnosed"
    else:
        words = "has far less to do than the others of its job, at the same clock: its host may starve it"
        action = "look at the host's CPU load and at data loading, if all of the job's ranks should do the same work"
    return Finding(
        cluster=scrape.cluster,
        detector=DETECTOR,
        state="opened",
        subject=gpu_subject(scrape.node, gpu),
        episode_us=scrape.ts_us,
        ts_us=scrape.ts_us,
        severity="warning" if one.is_slow else "info",
        cause="gpu_slow_by_counters" if one.is_slow else "gpu_starved_by_counters",
        value=round(one.distance, 2),
        limit=limits.distance,
        unit="spreads",
        summary=f"{_label(scrape, one)} {words} (by GPU counters alone)",
        evidence=[
            Evidence(what="stands apart for", value=part.slow_us / 1e6, unit="s"),
            *(
                Evidence(what=f"{name}, the others {one.others[f]:.4g}", value=round(one.own[f], 4), unit=unit)
                for f, (name, unit) in _NAMES.items()
                if f in one.own and f in one.others
            ),
        ],
        action=action,
        confidence="low",
        slowdown=round(1.0 / clock, 3) if one.is_slow else None,
    )


def _label(scrape: GpuScrape, one: Stand) -> str:
    gpu = scrape.gpus[one.row]
    return f"GPU {gpu.uuid if gpu.index is None else gpu.index} of {scrape.node}"
