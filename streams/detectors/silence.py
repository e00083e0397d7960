"""Silence: what stopped reporting is a finding of its own, also when everything stopped at once.

It is judged at a deadline in event time: by the next message, or by a tick when there is none. It is over
when data comes again, and only then.
"""

from collections.abc import Sequence
from typing import Any, Literal

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.silence_limits import SilenceLimits
from streams.detectors.silence_part import PartSilence

Watch = Literal["node", "device", "collector"]


class SilenceDetector:
    """Watches one kind of thing. The findings' detector is `silence` for all; their subjects tell them apart."""

    def __init__(self, watch: Watch, limits: SilenceLimits | None = None) -> None:
        limits = limits or SilenceLimits()
        self.name = f"silence_{watch}"
        self._watch = PartSilence(watch, limits)
        self.topics: tuple[Topic[Any], ...] = self._watch.topics

    def fresh(self) -> Any:
        """The state of a key never heard."""
        return self._watch.fresh()

    def step(self, state: Any, batch: Sequence[Message | Tick]) -> tuple[Any, list[Finding]]:
        """Take messages and ticks of one key in arrival order."""
        return self._watch.step(state, batch)

    def keep(self, state: Any) -> bytes | None:
        """Last word and open episode; None where there is nothing to watch."""
        return self._watch.keep(state)

    def restore(self, kept: bytes) -> Any:
        """A state from what was kept."""
        return self._watch.restore(kept)
