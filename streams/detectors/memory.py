"""Memory errors of GPUs: uncorrected errors, failed or waiting repairs, and corrected errors that keep coming."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES
from streams import counters
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.memory_columns import MOST_GPUS, Seen, Step
from streams.detectors.memory_conditions import (
    CORRECTED,
    LEVELS,
    REMAP_PENDING,
    UNCORRECTED,
    Condition,
    GpuMemory,
    MemoryLimits,
    Uncorrected,
    conditions,
)
from streams.detectors.memory_trend import DAY_US, Trend, due_us, grow, is_over, level
from streams.episodes import Episodes, graver
from streams.gpus import gpu_subject, is_old

FIELDS = tuple(dict.fromkeys((*CORRECTED, *UNCORRECTED, *LEVELS)))
VOLATILE = ("310", "311")
"""They start again at driver load and GPU reset; the others never fall on one board (gpu memory life cycle)."""
OWNER_SILENT_US = 300_000_000
"""After so long another source of the same counter takes over."""
NEVER = 1 << 62


class Kept(Struct):
    """What outlives the process."""

    gpus: dict[str, GpuMemory] = field(default_factory=dict)
    episodes: Episodes = field(default_factory=Episodes)


class MemoryState:
    """One node."""

    __slots__ = ("due_us", "kept", "owners", "seen")

    def __init__(self, kept: Kept | None = None) -> None:
        self.kept = kept or Kept()
        self.seen: dict[str, Seen] = {}
        self.owners: dict[str, str] = {}
        """Field -> the source whose growth counts: two readers of one counter must not count it twice."""
        self.due_us = 0 if kept else NEVER
        """When something may end though nothing grows."""


class MemoryDetector:
    """One episode a GPU. The gravest thing wrong names the cause, the rest is evidence."""

    name = "memory"
    topics: tuple[Topic[Any], ...] = (GPU_SCRAPES,)

    def __init__(self, limits: MemoryLimits) -> None:
        self._limits = limits

    def fresh(self) -> MemoryState:
        """A node never seen: the first readings are a baseline, flags are judged at once."""
        return MemoryState()

    def step(self, state: MemoryState, batch: Sequence[Message | Tick]) -> tuple[MemoryState, list[Finding]]:
        """Ticks bring nothing about: what ends does so on a reading."""
        out: list[Finding] = []
        for message in batch:
            if not isinstance(message, GpuScrape):
                continue
            seen = state.seen.get(message.source)
            if seen is not None and is_old(message.ts_us, seen.ts_us):
                continue
            if seen is None or message.ts_us < seen.ts_us:
                seen = state.seen[message.source] = Seen()
            steps, moved = seen.take(message, FIELDS)
            if steps or moved or message.ts_us >= state.due_us:
                self._judge(state, seen, message, steps, out)
        return state, out

    def keep(self, state: MemoryState) -> bytes | None:
        """Trends, flags and open episodes; nothing for a node whose memory is sound."""
        if not state.kept.gpus and not state.kept.episodes.open:
            return None
        return msgspec.msgpack.encode(state.kept)

    def restore(self, kept: bytes) -> MemoryState:
        """Growth that was counted before is not counted again when the last minutes are read back."""
        return MemoryState(msgspec.msgpack.decode(kept, type=Kept))

    def _judge(self, state: MemoryState, seen: Seen, scrape: GpuScrape, steps: list[Step], out: list[Finding]) -> None:
        gpus = state.kept.gpus
        by_gpu: dict[str, list[Step]] = {}
        for step in steps:
            by_gpu.setdefault(step.uuid, []).append(step)
        for uuid, its in by_gpu.items():
            gpu = gpus.get(uuid)
            if gpu is None:
                gpu = GpuMemory()
            self._take(state, gpu, its, scrape)
            if not gpu.is_empty() and (uuid in gpus or len(gpus) < MOST_GPUS):
                gpus[uuid] = gpu
        for row, part in enumerate(scrape.gpus):
            gpu = gpus.get(part.uuid)
            if gpu is not None and part.uuid not in seen.rows[:row]:
                self._refresh(gpu, seen, part.uuid, scrape.ts_us)
                self._edges(state, gpu, scrape, row, out)
                if gpu.is_empty():
                    del gpus[part.uuid]
        state.due_us = min((self._due(gpu, scrape.ts_us) for gpu in gpus.values()), default=NEVER)

    def _take(self, state: MemoryState, gpu: GpuMemory, steps: Iterable[Step], scrape: GpuScrape) -> None:
        ts_us = scrape.ts_us
        corrected, since_us, reset = 0.0, ts_us, False
        lost = gpu.uncorrected.last_us if gpu.uncorrected is not None else 0
        for step in steps:
            if step.field in LEVELS:
                reset |= step.field == REMAP_PENDING and step.now == 0.0 and step.field in gpu.levels
                if step.now == 0.0:
                    gpu.levels.pop(step.field, None)
                else:
                    gpu.levels[step.field] = step.now
            grown, fell = _growth(step, ts_us)
            reset |= fell
            if grown == 0.0 or not _owns(state, step.field, scrape):
                continue
            if step.field in CORRECTED:
                corrected, since_us = max(corrected, grown), min(since_us, step.since_us)
            elif step.field in UNCORRECTED and not is_old(ts_us, lost):
                gpu.uncorrected = gpu.uncorrected or Uncorrected()
                by = gpu.uncorrected.by_field
                by[step.field] = by.get(step.field, 0.0) + grown
                gpu.uncorrected.last_us = ts_us
            elif step.field == "391":
                day = ts_us // DAY_US
                gpu.retired = {d: n for d, n in gpu.retired.items() if d > day - 7}
                gpu.retired[day] = gpu.retired.get(day, 0.0) + grown
        if corrected > 0.0:
            gpu.trend = gpu.trend or Trend()
            grow(gpu.trend, corrected, since_us, ts_us, self._limits.trend)
        if reset and gpu.uncorrected is not None and gpu.uncorrected.last_us < ts_us:
            gpu.uncorrected = None

    def _refresh(self, gpu: GpuMemory, seen: Seen, uuid: str, now_us: int) -> None:
        """Let go what is over, as far as it can be read now."""
        if gpu.trend is not None and seen.reads(uuid, CORRECTED):
            gpu.corrected = level(gpu.trend, now_us, self._limits.trend)
            if is_over(gpu.trend, now_us, self._limits.trend):
                gpu.trend = None
        lost = gpu.uncorrected
        if lost is not None and now_us - lost.last_us >= self._limits.quiet_us and seen.reads(uuid, UNCORRECTED):
            gpu.uncorrected = None

    def _due(self, gpu: GpuMemory, now_us: int) -> int:
        due = NEVER
        if gpu.trend is not None:
            due = due_us(gpu.trend, now_us, self._limits.trend)
            if gpu.corrected != level(gpu.trend, now_us, self._limits.trend):
                due = now_us  # Could not be read now: at the next reading.
        if gpu.uncorrected is not None:
            due = min(due, gpu.uncorrected.last_us + self._limits.quiet_us)
        return due

    def _edges(self, state: MemoryState, gpu: GpuMemory, scrape: GpuScrape, row: int, out: list[Finding]) -> None:
        wrong = conditions(gpu, scrape.ts_us, self._limits)
        episodes, uuid = state.kept.episodes, scrape.gpus[row].uuid
        last = episodes.open.get(uuid)
        if last is not None and (not wrong or (wrong[0].severity == "info" and graver(last.severity, "info"))):
            edge = episodes.clear(uuid, scrape.ts_us, f"{_name(scrape, row)}: memory is sound again")
            if edge is not None:
                out.append(edge)
        if wrong:
            edge = episodes.report(uuid, self._finding(scrape, row, wrong))
            if edge is not None:
                out.append(edge)

    def _finding(self, scrape: GpuScrape, row: int, wrong: list[Condition]) -> Finding:
        first = wrong[0]
        return Finding(
            cluster=scrape.cluster,
            detector=self.name,
            state="opened",
            subject=gpu_subject(scrape.node, scrape.gpus[row]),
            episode_us=scrape.ts_us,
            ts_us=scrape.ts_us,
            severity=first.severity,
            cause=first.cause,
            value=first.value,
            limit=first.limit,
            unit=first.unit,
            summary=f"{_name(scrape, row)}: {first.words}",
            evidence=[c.evidence() for c in wrong],
            action=first.action,
        )


def _growth(step: Step, ts_us: int) -> tuple[float, bool]:
    """Errors that a step stands for, and whether the counter began again."""
    if step.before is None:
        return 0.0, False
    _, change = counters.advance(counters.Past(step.before, step.since_us, step.since_us), step.now, ts_us)
    if change is None or change.delta is None:
        return 0.0, False
    if change.reset and step.field in VOLATILE:
        # It began again at zero, so all that it shows came after.
        return step.now, True
    return float(change.delta), False


def _owns(state: MemoryState, field_id: str, scrape: GpuScrape) -> bool:
    owner = state.owners.setdefault(field_id, scrape.source)
    if owner != scrape.source and scrape.ts_us - state.seen[owner].ts_us > OWNER_SILENT_US:
        owner = state.owners[field_id] = scrape.source
    return owner == scrape.source


def _name(scrape: GpuScrape, row: int) -> str:
    gpu = scrape.gpus[row]
    return f"GPU {gpu.uuid if gpu.index is None else gpu.index} of {scrape.node}"
