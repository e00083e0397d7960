"""GPUs whose clock is low while they work, with the reason; a reason that takes a whole node is the node's."""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.throttle_causes import held_s
from streams.detectors.throttle_findings import DETECTOR, gpu_label, hot_gpu, slow_gpu, slow_node
from streams.detectors.throttle_reading import Reading, ThrottleLimits, is_calm, pace, readings
from streams.detectors.throttle_state import LEARN_US, Judged, Part, ThrottleState
from streams.episodes import Episodes
from streams.gpus import is_old

NODE = "node"
ENERGY, POWER = "156", "155"


class ThrottleDetector:
    """One episode a GPU, or one for the node when most of its busy GPUs are slow for one reason."""

    name = DETECTOR
    topics: tuple[Topic[Any], ...] = (GPU_SCRAPES,)

    def __init__(self, limits: ThrottleLimits) -> None:
        self._limits = limits

    def fresh(self) -> ThrottleState:
        """A node never seen."""
        return ThrottleState()

    def step(self, state: ThrottleState, batch: Sequence[Message | Tick]) -> tuple[ThrottleState, list[Finding]]:
        """Ticks bring nothing about: neither silence nor an idle GPU says that a clock is well."""
        out: list[Finding | None] = []
        for message in batch:
            if not isinstance(message, GpuScrape):
                continue
            before = state.last.get(message.source)
            if before is not None and is_old(message.ts_us, before.ts_us):
                continue
            state.last[message.source] = message
            if before is not None and message.ts_us < before.ts_us:
                state.looked_us = message.ts_us
            if message.ts_us - state.looked_us >= LEARN_US:
                state.learn(readings(message, self._limits).values(), message.ts_us, self._limits)
            if state.parts or state.episodes.open:
                self._succeed(state, message, out)
            if state.parts or state.rejoin or not is_calm(message, self._limits, state.least_mhz):
                self._judge(state, message, before, out)
        return state, [edge for edge in out if edge is not None]

    def keep(self, state: ThrottleState) -> bytes | None:
        """The open episodes."""
        return msgspec.msgpack.encode(state.episodes) if state.episodes.open else None

    def restore(self, kept: bytes) -> ThrottleState:
        """Open episodes wait for good scrapes; streaks are built anew."""
        episodes = msgspec.msgpack.decode(kept, type=Episodes)
        parts = {name: Part() for name in episodes.open if name != NODE}
        return ThrottleState(episodes, parts, rejoin=NODE in episodes.open)

    def _judge(
        self, state: ThrottleState, scrape: GpuScrape, before: GpuScrape | None, out: list[Finding | None]
    ) -> None:
        if before is not None and _is_same_sample(scrape, before):
            return
        here = readings(scrape, self._limits)
        if state.rejoin:
            state.rejoin = False
            for uuid in here:
                if uuid not in state.parts:
                    state.part(uuid).with_node = True
        found: list[Judged] = []
        at_work = 0
        for uuid, reading in here.items():
            its = pace(reading, here, self._limits, state.usual_mhz(uuid, self._limits))
            if its is None:
                continue
            at_work += 1
            hot = self._is_hot(reading)
            if its.slow or hot or uuid in state.parts:
                part = state.part(uuid)
                spent = hot and reading.margin is not None and reading.margin <= 0.0
                held = held_s(reading, scrape, before) if its.slow else {}
                part.count(its, hot, spent, held, scrape.ts_us)
                found.append(Judged(reading, part, its, before))
        self._node(state, scrape, found, at_work, out)
        for one in found:
            self._gpu(state, scrape, one, out)

    def _succeed(self, state: ThrottleState, scrape: GpuScrape, out: list[Finding | None]) -> None:
        """GPUs in the place of others end what was said of those; the node's own episode, when few are left of it."""
        heirs = state.slots.heirs(scrape, state.episodes.open.values())
        for uuid, heir in heirs.items():
            state.parts.pop(uuid, None)
            state.usual.pop(uuid, None)
            out.append(state.episodes.replace(uuid, scrape.ts_us, heir))
        left = sum(part.with_node for part in state.parts.values())
        if heirs and not state.rejoin and left < self._limits.node_least:
            out.append(state.episodes.replace(NODE, scrape.ts_us, ", ".join(sorted(heirs.values()))))
            _part_ways(state)

    def _node(
        self, state: ThrottleState, scrape: GpuScrape, found: list[Judged], at_work: int, out: list[Finding | None]
    ) -> None:
        """Open, go on with, or end the node's episode. Its members have none of their own beside it."""
        limits, episodes = self._limits, state.episodes
        members = _of_one_cause([j for j in found if j.part.slow > 0])
        if len(members) >= max(limits.node_least, limits.node_share * at_work):
            joining = [m for m in members if m.reading.uuid not in episodes.open]
            for one in joining:
                one.part.with_node = True
            if joining and max(m.part.slow for m in members) >= limits.windows:
                out.append(episodes.report(NODE, slow_node(scrape, members, limits)))
        elif NODE not in episodes.open:
            _part_ways(state)
        if NODE in episodes.open:
            left = [p for p in state.parts.values() if p.with_node and not p.is_over(scrape.ts_us, limits)]
            if len(left) < limits.node_least:
                summary = f"{scrape.node}: the clocks of its GPUs are up again under load"
                out.append(episodes.clear(NODE, scrape.ts_us, summary))
                _part_ways(state)

    def _gpu(self, state: ThrottleState, scrape: GpuScrape, one: Judged, out: list[Finding | None]) -> None:
        uuid, part, episodes = one.reading.uuid, one.part, state.episodes
        if part.with_node:
            return
        if part.slow >= self._limits.windows:
            out.append(episodes.report(uuid, slow_gpu(scrape, one, self._limits)))
        elif part.hot >= self._limits.windows:
            out.append(episodes.report(uuid, hot_gpu(scrape, one, self._limits)))
        elif uuid not in episodes.open:
            if part.slow == 0 and part.hot == 0:
                del state.parts[uuid]
        elif part.is_over(scrape.ts_us, self._limits):
            del state.parts[uuid]
            summary = f"{gpu_label(scrape, one.reading)}: the clock is up again under load"
            out.append(episodes.clear(uuid, scrape.ts_us, summary))

    def _is_hot(self, reading: Reading) -> bool:
        return reading.margin is not None and reading.margin < self._limits.margin_c


def _is_same_sample(scrape: GpuScrape, before: GpuScrape) -> bool:
    """An exporter that is asked more often than it looks tells the same again: energy and power stand to the digit."""
    return all(
        (column := scrape.columns.get(f)) is not None
        and column == before.columns.get(f)
        and any(v is not None and v > 0.0 for v in column)
        for f in (ENERGY, POWER)
    )


def _of_one_cause(slow: list[Judged]) -> list[Judged]:
    """Those of the most common cause."""
    causes = [j.why().cause for j in slow]
    common = max(dict.fromkeys(causes), key=causes.count, default=None)
    return [j for j, cause in zip(slow, causes, strict=True) if cause == common]


def _part_ways(state: ThrottleState) -> None:
    for part in state.parts.values():
        part.with_node = False
