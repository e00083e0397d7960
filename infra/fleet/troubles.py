"""Which faults are at work on what, at any second of a scenario."""

from collections import defaultdict
from collections.abc import Sequence

from infra.fleet.fault import Fault

STOPPERS = ("rank_hang", "process_dead", "leaf_down", "node_down", "rack_down")
"""Kinds that keep a step from ending on whatever rank they are on."""


class Troubles:
    """The faults of a scenario by their targets."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._by_target: dict[str, list[Fault]] = defaultdict(list)
        self._stoppers = [fault for fault in faults if fault.kind in STOPPERS]
        for fault in faults:
            self._by_target[fault.target].append(fault)

    def at(self, target: str, at_s: float) -> list[Fault]:
        """Those at work on a target at that second."""
        faults = self._by_target.get(target)
        return [fault for fault in faults if fault.active(at_s)] if faults else []

    def any(self, target: str, at_s: float, *kinds: str) -> bool:
        """Whether one of these kinds is at work on a target at that second."""
        return any(fault.kind in kinds and fault.active(at_s) for fault in self._by_target.get(target, ()))

    def stops(self, at_s: float) -> dict[str, Fault]:
        """Target -> what keeps the steps of the ranks on it from ending at that second."""
        return {fault.target: fault for fault in self._stoppers if fault.active(at_s)}
