"""What changed in the memory columns of one source since its last scrape, GPU by GPU."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from collectors.contract.gpu import GpuScrape
from streams.gpus import uuids

BLANK = 2147483632.0
"""DCGM's 32-bit "no value" (0x7ffffff0); its 64-bit and floating forms are larger. No true count comes near."""

MOST_GPUS = 256
"""A node has a few; what was never seen again is forgotten beyond so many."""

Column = list[float | None]


@dataclass(frozen=True, slots=True)
class Step:
    """A reading that is new or differs from the one before. `before` None: the first reading, a baseline."""

    uuid: str
    field: str
    before: float | None
    since_us: int
    """When `before` was last seen to hold."""
    now: float


@dataclass(slots=True)
class Seen:
    """The last scrape of one source. Only columns that differ as a whole are looked into."""

    ts_us: int = 0
    rows: list[str] = field(default_factory=list)
    raw: dict[str, Column | None] = field(default_factory=dict)
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    """Field -> UUID -> the last reading; what could not be read keeps the reading before."""
    gaps: dict[tuple[str, str], int] = field(default_factory=dict)
    """(field, UUID) that cannot be read now -> when it last could."""

    def take(self, scrape: GpuScrape, fields: Sequence[str]) -> tuple[list[Step], bool]:
        """Move on to a later scrape: what changed, and whether the GPUs are not the same ones."""
        steps: list[Step] = []
        rows = uuids(scrape)
        moved = rows != self.rows
        if moved:
            self._move(rows)
        columns, raw = scrape.columns, self.raw
        for name in fields:
            column = columns.get(name)
            if moved or column != raw.get(name):
                raw[name] = column
                self._compare(name, column, steps)
        self.ts_us = scrape.ts_us
        return steps, moved

    def reads(self, uuid: str, fields: Sequence[str]) -> bool:
        """Does the last scrape hold a reading of one of the fields for that GPU?"""
        return any(uuid in self.values.get(f, ()) and (f, uuid) not in self.gaps for f in fields)

    def ever(self, uuid: str, fields: Sequence[str]) -> bool:
        """Was any of the fields ever read for that GPU?"""
        return any(uuid in self.values.get(f, ()) for f in fields)

    def _move(self, rows: list[str]) -> None:
        """GPUs that left keep their readings: lifetime counters go on counting while a node reboots."""
        here = set(rows)
        self.rows = rows
        for name, by in self.values.items():
            if len(by) > MOST_GPUS:
                self.values[name] = by = {u: v for u, v in by.items() if u in here}
            for uuid in by.keys() - here:
                self.gaps.setdefault((name, uuid), self.ts_us)
        if len(self.gaps) > MOST_GPUS * len(self.values):
            self.gaps = {k: ts for k, ts in self.gaps.items() if k[1] in self.values[k[0]]}

    def _compare(self, name: str, column: Column | None, steps: list[Step]) -> None:
        values = self.values.setdefault(name, {})
        now: dict[str, float] = {}
        if column is not None and len(column) == len(self.rows):
            for uuid, value in zip(self.rows, column, strict=True):
                if value is not None and 0.0 <= value < BLANK:
                    # Memory counters belong to the whole GPU: its MIG rows say the same.
                    now[uuid] = max(value, now.get(uuid, 0.0))
        for uuid in dict.fromkeys(self.rows):
            reading, before = now.get(uuid), values.get(uuid)
            if reading is None:
                if before is not None:
                    self.gaps.setdefault((name, uuid), self.ts_us)
                continue
            since_us = self.gaps.pop((name, uuid), self.ts_us)
            if reading != before:
                values[uuid] = reading
                steps.append(Step(uuid, name, before, since_us, reading))
