"""LLDP neighbours -> `Link`: what each port is plugged into."""

from collectors.contract.fabric import Link
from collectors.fabric.cables import Cables, Heard
from collectors.fabric.grid import Cell
from collectors.fabric.reading import text
from collectors.fabric.series import Series
from collectors.gnmi.path import GnmiPath


class Neighbours:
    """The neighbours of one device as they stand, and which of their links were told already."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str, str], Cell] = {}
        self._deleted: set[str] = set()
        self._cables = Cables()

    @staticmethod
    def owns(path: GnmiPath) -> bool:
        """Whether a path is a leaf below an LLDP neighbour."""
        names = [e.name for e in path.elems]
        keyed = {e.name for e in path.elems if e.keys}
        return names[:3] == ["lldp", "interfaces", "interface"] and {"interface", "neighbor"} <= keyed

    def cell(self, path: GnmiPath) -> Cell:
        """The cell of one leaf of one neighbour."""
        keys = {e.name: next(iter(e.keys), ("", ""))[1] for e in path.elems}
        where = (keys["interface"], keys["neighbor"], path.elems[-1].name)
        if (cell := self._cells.get(where)) is None:
            cell = self._cells[where] = Cell(Series(where[0], path.names(), where[1]), text)
        return cell

    def clear(self) -> None:
        """Forget every neighbour; links that are not told again are down."""
        self._cells.clear()

    def drop(self, port: str, neighbour: str | None) -> None:
        """Forget a deleted neighbour, or all of a port."""
        self._deleted.add(port)
        for where in [w for w in self._cells if w[0] == port and neighbour in (None, w[1])]:
            del self._cells[where]

    def links(self, device: str, ts_us: int, cluster: str, *, complete: bool) -> list[Link]:
        """The links that changed since the last call.

        One whose neighbour went away is told as down; until the snapshot is `complete`, only where it was deleted.
        """
        if not self._cells and not self._cables:
            return []
        heard: dict[str, Heard] = {}
        for (port, neighbour, leaf), cell in self._cells.items():
            if leaf == "system-name" and cell.value not in (None, ""):
                heard[port] = (str(cell.value), self._far_port(port, neighbour))
        gone, self._deleted = self._deleted, set()
        return self._cables.changes(device, ts_us, cluster, heard, complete=complete, gone=gone)

    def _far_port(self, port: str, neighbour: str) -> str | None:
        cell = self._cells.get((port, neighbour, "port-id"))
        return str(cell.value) if cell is not None and cell.value not in (None, "") else None
