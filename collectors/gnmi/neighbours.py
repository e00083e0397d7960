"""LLDP neighbours -> `Link`: what each port is plugged into."""

from collectors.contract.fabric import Link
from collectors.fabric.grid import Cell
from collectors.fabric.reading import text
from collectors.fabric.series import Series
from collectors.gnmi.path import GnmiPath


class Neighbours:
    """The neighbours of one device as they stand, and which of their links were told already."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str, str], Cell] = {}
        self._deleted: set[str] = set()
        self._told: dict[str, tuple[str, str | None]] = {}

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
        if not self._cells and not self._told:
            return []
        seen: dict[str, tuple[str, str | None]] = {}
        for (port, neighbour, leaf), cell in self._cells.items():
            if leaf == "system-name" and cell.value not in (None, ""):
                seen[port] = (str(cell.value), self._far_port(port, neighbour))
        gone = {
            port: far for port, far in self._told.items() if port not in seen and (complete or port in self._deleted)
        }
        new = {port: far for port, far in seen.items() if self._told.get(port) != far}
        self._told = {port: far for port, far in {**self._told, **seen}.items() if port not in gone}
        self._deleted.clear()
        return [_link(device, ts_us, cluster, port, far, True) for port, far in new.items()] + [
            _link(device, ts_us, cluster, port, far, False) for port, far in gone.items()
        ]

    def _far_port(self, port: str, neighbour: str) -> str | None:
        cell = self._cells.get((port, neighbour, "port-id"))
        return str(cell.value) if cell is not None and cell.value not in (None, "") else None


def _link(device: str, ts_us: int, cluster: str, port: str, far: tuple[str, str | None], up: bool) -> Link:
    return Link(
        cluster=cluster,
        ts_us=ts_us,
        device=device,
        port=port,
        far_device=far[0],
        far_port=far[1],
        source="lldp",
        up=up,
    )
