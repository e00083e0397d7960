"""What a worker holds of one partition number: the states of its keys, and what was written of them."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from collectors.contract.topic import Topic
from streams.bank import Bank, Slot
from streams.ticks import Reached

log = logging.getLogger("lockstep.stream")


def row_of(slot: Slot) -> str:
    """The name of a state in the Table."""
    return f"{slot.detector.name}|{slot.key}"


@dataclass(slots=True)
class Group:
    """One partition number, over all topics that the detectors read."""

    reached: Reached = field(default_factory=lambda: Reached({}, {}))
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the states are rebuilt, or when the partition went to another worker."""
    slots: dict[tuple[str, str], Slot] = field(default_factory=dict)
    kept: dict[str, bytes | None] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def own(self, bank: Bank, topic: Topic[Any], key: str) -> None:
        """The states that judge this key are of this partition."""
        if (topic.name, key) in self.seen:
            return
        self.seen.add((topic.name, key))
        for detector in bank.readers(topic):
            name = (detector.name, key)
            if name not in self.slots:
                self.slots[name] = bank.slots[name]

    def restore(self, bank: Bank, rows: Mapping[str, bytes]) -> None:
        """Put the states in the bank that were kept; of a detector that is gone or that cannot read it, none."""
        by_name = {d.name: d for d in bank.detectors}
        for row, raw in rows.items():
            name, _, key = row.partition("|")
            detector = by_name.get(name)
            if detector is None:
                continue
            try:
                state = detector.restore(raw)
            except (msgspec.MsgspecError, ValueError, KeyError, TypeError) as why:
                log.warning("%s: what was kept of %s cannot be read, starting afresh: %s", name, key, why)
                continue
            slot = self.slots[(name, key)] = bank.put(detector, key, state)
            bank.catch_up(slot)
            self.kept[row] = raw
