"""The series of one device: found by their paths, dropped by them, and renamed by SONiC's name maps."""

from collections.abc import Callable
from typing import Any

from collectors.fabric.cell import Cell
from collectors.fabric.grid import Grid
from collectors.fabric.series import Series
from collectors.gnmi.mapping import Mapping, covers
from collectors.gnmi.neighbours import SONIC_TABLE, Neighbours
from collectors.gnmi.path import GnmiPath
from collectors.sonic.names import MAPS

SERIES_LIMIT = 500_000
"""Series of one device: 512 ports of 500 counters, their queues included, are half as many."""


class Catalog:
    """Nothing here is on the way of a value whose series is known."""

    def __init__(self, grid: Grid, mapping: Mapping, neighbours: Neighbours, *, limit: int = SERIES_LIMIT) -> None:
        self._grid = grid
        self._mapping = mapping
        self._neighbours = neighbours
        self._limit = limit
        self._paths: dict[Series, GnmiPath] = {}

    def cell(self, path: GnmiPath) -> Cell:
        """The cell of a path, learned when new. Beyond the limit it is one that no scrape shows."""
        if (neighbour := self._neighbours.cell(path)) is not None:
            return neighbour
        series = self._mapping.series(path)
        if len(self._paths) >= self._limit and series not in self._paths:
            self._grid.complain("series", f"more than {self._limit}; the rest is left out")
            return self._grid.spare(series)
        self._paths[series] = path
        return self._grid.cell(series)

    def delete(self, gone: GnmiPath, ts: int) -> None:
        """What the device deleted at `ts` ns: those values are gone, not zero."""
        self._drop(lambda path, series: covers(gone.elems, path.elems) and self._grid.cell(series).stamp[0] <= ts)
        self._neighbours.drop(gone)

    def table(self, path: GnmiPath, raw: dict[str, Any]) -> bool | None:
        """SONiC's tables that are no counters. A name map holds no value: True where it renames objects, False where
        it says nothing new. None for everything else, which is read on.
        """
        name = path.elems[-1].name if path.elems else ""
        if name != SONIC_TABLE and name not in MAPS:
            return None
        whole = self._mapping.every(path).sent_us is not None
        if name == SONIC_TABLE:
            if whole:
                self._neighbours.told(port for port, fields in raw.items() if fields)
            return None
        if not self._mapping.name(name, raw, whole=whole):
            return False
        self._drop(lambda path, _: any(e.name.startswith("oid:") for e in path.elems))
        return True

    def _drop(self, gone: Callable[[GnmiPath, Series], bool]) -> None:
        dead = {series for series, path in self._paths.items() if gone(path, series)}
        self._grid.drop(dead.__contains__)
        for series in dead:
            del self._paths[series]
