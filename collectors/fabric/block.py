"""Values that come together, again and again in the same order: columns are cut from them as they came."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from collectors.fabric.cell import Cell, Stamp
from collectors.fabric.reading import Value

Pick = Callable[[Sequence[Value]], Iterable[Value]]
ABSENT = -1
"""Place of what is not in the block: its values end with a None."""


class Block:
    """Cells that are filled at once. While nobody looks at them one by one, their values stay where they came."""

    __slots__ = ("_pick", "_rest", "beside", "cells", "places", "stamp", "stands", "used", "values")

    def __init__(self, cells: Sequence[Cell], places: Sequence[int], beside: Sequence[Cell] = ()) -> None:
        """`places` of the cells' values among those that come. `beside` are put one by one, by who takes the block."""
        self.cells = cells
        self.places = places
        self.beside = beside
        self.values: Sequence[Value] = ()
        self.stamp: Stamp = (0, 0)
        self.stands = False
        """The cells are behind the values."""
        self.used = False
        """Columns are cut from it."""
        self._pick = picking(places)
        self._rest: list[tuple[Cell, int]] = []

    def plan(self, cut: set[Cell]) -> None:
        """`cut`: the cells whose columns are cut from the values. The others are filled for each message."""
        self._rest = [(cell, place) for cell, place in zip(self.cells, self.places, strict=True) if cell not in cut]
        self.used = len(self._rest) < len(self.cells)

    def fill_rest(self) -> None:
        """The cells that no column takes from here."""
        values, stamp = self.values, self.stamp
        for cell, place in self._rest:
            cell.value = values[place]
            cell.stamp = stamp

    def settle(self) -> None:
        """Every value into its cell."""
        stamp = self.stamp
        for cell, value in zip(self.cells, self._pick(self.values), strict=True):
            cell.value = value
            cell.stamp = stamp
        self.stands, self.values = False, ()


def picking(places: Sequence[int]) -> Pick:
    """Takes the values at `places`, in their order."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: [values[place] for place in places]
