"""One column of a scrape: the cells of all rows, or the block that they all come in."""

from collections.abc import Mapping

from collectors.fabric.block import ABSENT, Block, Pick, picking
from collectors.fabric.cell import Cell
from collectors.fabric.reading import Value

FOREVER = -1


class Column:
    """Cells parallel to the rows; None where a row never had the value. `life` in rounds."""

    __slots__ = ("_block", "_pick", "cells", "life")

    def __init__(self, rows: int, life: int) -> None:
        self.cells: list[Cell | None] = [None] * rows
        self.life = life
        self._block: Block | None = None
        self._pick: Pick | None = None

    def plan(self, places: Mapping[Cell, tuple[Block, int]]) -> list[Cell]:
        """Cut from a block from now on if all cells come in it. Returns those cells."""
        self._block = self._pick = None
        present = [cell for cell in self.cells if cell is not None]
        blocks = {places[cell][0] if cell in places else None for cell in present}
        block = blocks.pop() if len(blocks) == 1 else None
        if block is None:
            return []
        self._block = block
        self._pick = picking([ABSENT if cell is None else places[cell][1] for cell in self.cells])
        return present

    def values(self, round_: int) -> list[Value]:
        """A value that has outlived its column's life is None."""
        oldest = 0 if self.life == FOREVER else round_ - self.life
        block, pick = self._block, self._pick
        if block is None or pick is None or not block.stands:
            return [cell.value if cell is not None and cell.stamp[1] >= oldest else None for cell in self.cells]
        if block.stamp[1] < oldest:
            return [None] * len(self.cells)
        return list(pick(block.values))
