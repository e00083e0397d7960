"""Memory errors of GPUs: uncorrected errors, failed or waiting repairs, and corrected errors that keep coming."""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.gpu import GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, KERNEL_EVENTS
from streams.contract import NODE_PASTS, Finding, NodePast
from streams.detector import Tick
from streams.detectors.memory_columns import MOST_GPUS, Seen, Step
from streams.detectors.memory_conditions import MemoryLimits
from streams.detectors.memory_corrected import level
from streams.detectors.memory_counted import take_past, take_steps
from streams.detectors.memory_fields import CORRECTED, ENERGY, FIELDS, UNCORRECTED
from streams.detectors.memory_log import CODES, NOTICE, take_line
from streams.detectors.memory_rate import fleet_rate
from streams.detectors.memory_state import (
    LEVELS_BY_GRAVITY,
    MONTH_US,
    MOST_PENDING,
    NEVER,
    GpuMemory,
    Kept,
    MemoryState,
    Wear,
    digest_of,
)
from streams.detectors.memory_telling import NAME, Place, tell
from streams.detectors.memory_trend import DAY_US, due_us, is_over
from streams.gpus import cell, is_old

RESET_ENERGY = 0.5
"""A reset GPU shows far less energy than before; a second reader of the counter may lag by a little."""


class MemoryDetector:
    """One episode a GPU. The gravest thing wrong names the cause, the rest is evidence."""

    name = NAME
    topics: tuple[Topic[Any], ...] = (GPU_SCRAPES, KERNEL_EVENTS, NODE_PASTS)

    def __init__(self, limits: MemoryLimits) -> None:
        self._limits = limits

    def fresh(self) -> MemoryState:
        """A node never seen: the first readings are a baseline, flags are judged at once."""
        return MemoryState()

    def step(self, state: MemoryState, batch: Sequence[Message | Tick]) -> tuple[MemoryState, list[Finding]]:
        """Ticks bring nothing about: what ends does so on a reading."""
        out: list[Finding] = []
        for message in batch:
            if isinstance(message, GpuScrape):
                self._scrape(state, message, out)
            elif isinstance(message, KernelEvent):
                if message.kind == "xid" and message.code in CODES:
                    self._line(state, message, out)
            elif isinstance(message, NodePast):
                self._past(state, message)
        return state, out

    def keep(self, state: MemoryState) -> bytes | None:
        """Trends, flags and open episodes; nothing for a node whose memory is sound."""
        kept = state.kept
        if not kept.gpus and not kept.episodes.open:
            return None
        kept.lines = list(state.known)
        kept.past_days = {uuid: state.past_days[uuid] for uuid in kept.gpus if uuid in state.past_days}
        return msgspec.msgpack.encode(kept)

    def restore(self, kept: bytes) -> MemoryState:
        """Growth that was counted before is not counted again when the last minutes are read back."""
        return MemoryState(msgspec.msgpack.decode(kept, type=Kept))

    def _scrape(self, state: MemoryState, scrape: GpuScrape, out: list[Finding]) -> None:
        seen = state.seen.get(scrape.source)
        if seen is not None and is_old(scrape.ts_us, seen.ts_us):
            return
        if seen is None or scrape.ts_us < seen.ts_us:
            seen = state.seen[scrape.source] = Seen()
        if not 0 < state.kept.since_us <= scrape.ts_us:
            state.kept.since_us = scrape.ts_us
        steps, moved = seen.take(scrape, FIELDS)
        if state.kept.gpus or state.kept.episodes.open:
            self._succeed(state, scrape, out)
        if moved:
            self._move(state, scrape, out)
        if steps or moved or scrape.ts_us >= state.due_us:
            self._judge(state, seen, scrape, steps, out)

    def _move(self, state: MemoryState, scrape: GpuScrape, out: list[Finding]) -> None:
        """Learn which address is which GPU, and hear the lines that waited for it."""
        if len(state.parts) > 2 * MOST_GPUS:
            state.parts = {}
        for part in scrape.gpus:
            state.parts[part.uuid] = part
            if part.pci is not None:
                state.parts[part.pci] = part
        waiting, state.pending = state.pending, {}
        for event in waiting.values():
            self._line(state, event, out)

    def _succeed(self, state: MemoryState, scrape: GpuScrape, out: list[Finding]) -> None:
        """A GPU in the place of another has no share in its memory errors."""
        for uuid, heir in state.slots.heirs(scrape, state.kept.episodes.open.values()).items():
            state.kept.gpus.pop(uuid, None)
            state.past_days.pop(uuid, None)
            edge = state.kept.episodes.replace(uuid, scrape.ts_us, heir)
            if edge is not None:
                state.kept.edge_us = scrape.ts_us
                out.append(edge)

    def _line(self, state: MemoryState, event: KernelEvent, out: list[Finding]) -> None:
        part = state.parts.get(event.gpu_uuid or event.pci or "")
        digest = digest_of(event)
        if part is None:
            if len(state.pending) < MOST_PENDING:
                state.pending.setdefault(digest, event)
            return
        if state.knows(digest) or event.code is None:
            return
        gpus = state.kept.gpus
        gpu = gpus.get(part.uuid) or GpuMemory()
        if event.code == NOTICE:
            gpu.wear = gpu.wear or Wear()
            day = event.ts_us // DAY_US
            gpu.wear.notices[day] = gpu.wear.notices.get(day, 0) + 1
            gpu.wear.forget(day)
        else:
            take_line(gpu, event.code, event.ts_us, self._limits.log)
        if part.uuid in gpus or (len(gpus) < MOST_GPUS and not gpu.is_empty()):
            gpus[part.uuid] = gpu
            self._rise(state, gpu, part.uuid, event.ts_us, may_fall=False)
            out += tell(state, gpu, Place(event.cluster, event.node, part, event.ts_us), self._limits)
            state.due_us = 0

    def _past(self, state: MemoryState, past: NodePast) -> None:
        limits = self._limits.trend
        if past.fleet_gpu_days > 0.0:
            state.kept.fleet_per_day = fleet_rate(past.fleet_event_days, past.fleet_gpu_days, limits.fleet_per_day)
        state.past_days = {gpu.uuid: gpu.seen_days for gpu in past.gpus[:MOST_GPUS]}
        gpus = state.kept.gpus
        for its in past.gpus:
            gpu = gpus.get(its.uuid) or GpuMemory()
            take_past(gpu, its, past.ts_us, limits)
            if not gpu.is_empty() and (its.uuid in gpus or len(gpus) < MOST_GPUS):
                gpus[its.uuid] = gpu
        state.due_us = 0

    def _judge(self, state: MemoryState, seen: Seen, scrape: GpuScrape, steps: list[Step], out: list[Finding]) -> None:
        gpus, ts_us = state.kept.gpus, scrape.ts_us
        by_gpu: dict[str, list[Step]] = {}
        for step in steps:
            by_gpu.setdefault(step.uuid, []).append(step)
        rows = {part.uuid: row for row, part in reversed(list(enumerate(scrape.gpus)))}
        for uuid, its in by_gpu.items():
            gpu = gpus.get(uuid) or GpuMemory()
            owned = {step.field for step in its if state.owns(step.field, scrape.source, ts_us)}
            reset = take_steps(gpu, its, owned, ts_us, cell(scrape, ENERGY, rows[uuid]), self._limits.trend)
            if reset:
                gpu.reset(ts_us)
            if not gpu.is_empty() and (uuid in gpus or len(gpus) < MOST_GPUS):
                gpus[uuid] = gpu
        replayed, before = is_old(ts_us, state.kept.edge_us), len(out)
        for uuid, row in sorted(rows.items(), key=lambda at: at[1]):
            if uuid in gpus and not replayed:
                gpu = gpus[uuid]
                self._refresh(state, gpu, seen, scrape, row)
                out += tell(state, gpu, Place(scrape.cluster, scrape.node, scrape.gpus[row], ts_us), self._limits)
        if len(out) > before:
            state.kept.edge_us = ts_us
        for uuid, gpu in list(gpus.items()):
            gone = uuid not in rows and gpu.trend is not None and is_over(gpu.trend, ts_us, self._limits.trend)
            if gone and uuid not in state.kept.episodes.open:
                gpu.trend = None
            if gpu.is_empty() and uuid not in state.kept.episodes.open:
                del gpus[uuid]
        state.due_us = min((self._due(state, uuid, gpu, ts_us) for uuid, gpu in gpus.items()), default=NEVER)

    def _refresh(self, state: MemoryState, gpu: GpuMemory, seen: Seen, scrape: GpuScrape, row: int) -> None:
        """Let go what is over, as far as it can be read now."""
        uuid, now_us = scrape.gpus[row].uuid, scrape.ts_us
        energy = cell(scrape, ENERGY, row)
        if gpu.trend is not None:
            stale = energy is not None and energy == gpu.trend.energy_mj
            readable = not stale and seen.reads(uuid, CORRECTED)
            self._rise(state, gpu, uuid, now_us, may_fall=readable)
            if readable and is_over(gpu.trend, now_us, self._limits.trend):
                gpu.trend, gpu.corrected = None, "none"
        if gpu.wear is not None:
            gpu.wear.forget(now_us // DAY_US)
            if gpu.wear.is_empty():
                gpu.wear = None
        gpu.faults = [start for start in gpu.faults if now_us - start < MONTH_US]
        lost = gpu.uncorrected
        if lost is None or is_old(now_us, lost.last_us):
            return
        if lost.energy_mj is not None and energy is not None and energy < RESET_ENERGY * lost.energy_mj:
            gpu.reset(now_us)
        elif now_us - lost.last_us >= self._limits.quiet_us and (
            seen.reads(uuid, UNCORRECTED) or (energy is not None and not seen.ever(uuid, UNCORRECTED))
        ):
            gpu.end()
        elif lost.energy_mj is None:
            lost.energy_mj = energy

    def _rise(self, state: MemoryState, gpu: GpuMemory, uuid: str, now_us: int, *, may_fall: bool) -> None:
        trending = state.is_trending(gpu, uuid, now_us, self._limits.trend)
        now = level(gpu, now_us, trending, self._limits.trend, self._limits.wear)
        if gpu.trend is not None:
            gpu.trend.held = trending or (gpu.trend.held and not may_fall)
        if may_fall or LEVELS_BY_GRAVITY.index(now) > LEVELS_BY_GRAVITY.index(gpu.corrected):
            gpu.corrected = now

    def _due(self, state: MemoryState, uuid: str, gpu: GpuMemory, now_us: int) -> int:
        due = NEVER
        if gpu.trend is not None:
            due = due_us(gpu.trend, now_us, self._limits.trend)
            trending = state.is_trending(gpu, uuid, now_us, self._limits.trend)
            if gpu.corrected != level(gpu, now_us, trending, self._limits.trend, self._limits.wear):
                due = now_us  # Could not be read now: at the next reading.
        if gpu.trend is not None or gpu.wear is not None or gpu.faults:
            due = min(due, (now_us // DAY_US + 1) * DAY_US)
        if gpu.uncorrected is not None:
            due = 0  # A reset may show in any reading of the energy.
        return due
