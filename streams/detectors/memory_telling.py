"""What is told of one GPU's memory: its place, its last readings by any source, and the finding."""

from collections.abc import Iterator, Mapping

import msgspec

from collectors.contract.gpu import Gpu
from streams.contract import Finding
from streams.detectors.memory_condition import Condition
from streams.detectors.memory_conditions import MemoryLimits, conditions
from streams.detectors.memory_fields import FIELDS
from streams.detectors.memory_state import GpuMemory, MemoryState
from streams.detectors.memory_uncorrected import told
from streams.episodes import graver
from streams.gpus import gpu_subject

NAME = "memory"


class Place(msgspec.Struct, frozen=True):
    """Where and when something is told."""

    cluster: str
    node: str
    part: Gpu
    ts_us: int

    @property
    def name(self) -> str:
        """As a person calls it."""
        return f"GPU {self.part.uuid if self.part.index is None else self.part.index} of {self.node}"


class Readings(Mapping[str, float]):
    """Field -> the last reading of one GPU by any source, looked up when asked for."""

    def __init__(self, state: MemoryState, uuid: str) -> None:
        self._by_source = [seen.values for seen in state.seen.values()]
        self._uuid = uuid

    def __getitem__(self, field: str) -> float:
        for values in self._by_source:
            by_gpu = values.get(field)
            if by_gpu is not None and self._uuid in by_gpu:
                return by_gpu[self._uuid]
        raise KeyError(field)

    def __iter__(self) -> Iterator[str]:
        return (field for field in FIELDS if field in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def tell(state: MemoryState, gpu: GpuMemory, place: Place, limits: MemoryLimits) -> list[Finding]:
    """The edges of a GPU's episode: it ends, opens, or has grown by a stage."""
    uuid, out = place.part.uuid, []
    days, fleet = state.days_known(uuid, place.ts_us), state.fleet_per_day(limits.trend)
    wrong = conditions(gpu, Readings(state, uuid), place.ts_us, days, fleet, limits)
    episodes = state.kept.episodes
    last = episodes.open.get(uuid)
    if last is not None and (not wrong or (wrong[0].severity == "info" and graver(last.severity, "info"))):
        edge = episodes.clear(uuid, place.ts_us, f"{place.name}: memory is sound again")
        if edge is not None:
            out.append(edge)
    if not wrong:
        return out
    made = _finding(place, wrong)
    edge = episodes.report(uuid, made)
    stage = "" if gpu.uncorrected is None else told(gpu, gpu.uncorrected, limits.log)
    if edge is None and stage not in ("", gpu.told) and last is not None and last.severity == made.severity:
        # A further stage is worth a word of its own, whatever the number of errors.
        edge = msgspec.structs.replace(made, state="updated", episode_us=last.episode_us, subject=last.subject)
    if edge is not None:
        facts = {fact.what: fact for condition in reversed(wrong) for fact in reversed(condition.evidence())}
        edge = msgspec.structs.replace(edge, evidence=list(reversed(facts.values())))
        episodes.open[uuid] = edge
        gpu.told = stage
        out.append(edge)
    return out


def _finding(place: Place, wrong: list[Condition]) -> Finding:
    """The gravest of what is wrong names it, all of it is evidence."""
    first = wrong[0]
    return Finding(
        cluster=place.cluster,
        detector=NAME,
        state="opened",
        subject=gpu_subject(place.node, place.part),
        episode_us=place.ts_us,
        ts_us=place.ts_us,
        severity=first.severity,
        cause=first.cause,
        value=first.value,
        limit=first.limit,
        unit=first.unit,
        summary=f"{place.name}: {first.words}",
        action=first.action,
        confidence=first.confidence,
    )
