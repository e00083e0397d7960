"""What is told of one GPU's memory: its place, its last readings by any source, and the finding."""

from collections.abc import Iterator, Mapping

import msgspec

from collectors.contract.gpu import Gpu
from streams.contract import Finding
from streams.detectors.memory_condition import Condition
from streams.detectors.memory_fields import FIELDS
from streams.detectors.memory_state import MemoryState
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


def finding(place: Place, wrong: list[Condition]) -> Finding:
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
