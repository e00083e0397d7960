"""A detector that is being tried out: it judges, its findings are stored, nobody is told."""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Detector, Tick


class Shadowed:
    """Another detector whose findings say that they are a shadow's."""

    def __init__(self, detector: Detector[Any]) -> None:
        self._detector = detector
        self.name, self.topics = detector.name, detector.topics

    def fresh(self) -> Any:
        """As the detector says."""
        return self._detector.fresh()

    def step(self, state: Any, batch: Sequence[Message | Tick]) -> tuple[Any, list[Finding]]:
        """As the detector says; its findings marked."""
        state, found = self._detector.step(state, batch)
        return state, [structs.replace(finding, shadow=True) for finding in found]

    def keep(self, state: Any) -> bytes | None:
        """As the detector says."""
        return self._detector.keep(state)

    def restore(self, kept: bytes) -> Any:
        """As the detector says."""
        return self._detector.restore(kept)
