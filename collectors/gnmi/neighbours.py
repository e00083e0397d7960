"""LLDP neighbours -> `Link`: what each port is plugged into, in the models of every switch that we read."""

from collections.abc import Iterable
from typing import NamedTuple

from collectors.contract.fabric import Link
from collectors.fabric.cables import Cables, Heard
from collectors.fabric.cell import Cell
from collectors.fabric.reading import text
from collectors.fabric.series import Series
from collectors.gnmi.path import Elem, GnmiPath

LIMIT = 100_000
"""Leaves that are kept of one device: 512 ports with a dozen neighbours of a dozen leaves each are fewer."""
SONIC_TABLE = "LLDP_ENTRY_TABLE"
"""SONiC's APPL_DB: port -> fields, one neighbour a port."""

_PORTS = {"interface": "name", "port": "port-id"}
_NEIGHBOURS = frozenset({"neighbor", "remote-system"})
_LEAVES = {
    "system-name": "system",
    "port-id": "port",
    "remote-port-id": "port",
    "lldp_rem_sys_name": "system",
    "lldp_rem_port_id": "port",
}
"""Of openconfig-lldp, srl_nokia-lldp (system/lldp), nokia-state (port/ethernet/lldp) and SONiC."""


class _Where(NamedTuple):
    port: str
    neighbour: str
    leaf: str


class Neighbours:
    """The neighbours of one device as they stand, and which of their links were told already."""

    def __init__(self) -> None:
        self._cells: dict[_Where, Cell] = {}
        self._deleted: set[str] = set()
        self._cables = Cables()

    def cell(self, path: GnmiPath) -> Cell | None:
        """The cell of one leaf of one neighbour; None for a path that is none."""
        where = _where(path.elems)
        if where is None:
            return None
        if (cell := self._cells.get(where)) is None:
            made = Cell(Series(where.port, path.names(), where.neighbour), text)
            if len(self._cells) >= LIMIT:
                return made
            cell = self._cells[where] = made
        return cell

    def clear(self) -> None:
        """Hear everything anew: links that are not told again are down. SONiC's table comes whole, when it comes."""
        for where, cell in self._cells.items():
            if where.neighbour != SONIC_TABLE:
                cell.value = None

    def told(self, ports: Iterable[str]) -> None:
        """A whole SONiC table came: ports that are not in it have no neighbour."""
        heard = set(ports)
        for where, cell in self._cells.items():
            if where.neighbour == SONIC_TABLE and where.port not in heard:
                cell.value = None
                self._deleted.add(where.port)

    def drop(self, gone: GnmiPath) -> None:
        """Forget what was deleted: a neighbour, all of a port, or all."""
        if not any(e.name == "lldp" for e in gone.elems):
            return
        port, neighbour = _keys(gone.elems)
        for where, cell in self._cells.items():
            if port in (None, where.port) and neighbour in (None, where.neighbour):
                cell.value = None
                self._deleted.add(where.port)

    def links(self, device: str, ts_us: int, cluster: str, *, complete: bool) -> list[Link]:
        """The links that changed since the last call.

        One whose neighbour went away is told as down; until the snapshot is `complete`, only where it was deleted.
        """
        if not self._cells and not self._cables:
            return []
        heard: dict[str, Heard] = {}
        for where, cell in self._cells.items():
            if where.leaf == "system" and cell.value not in (None, ""):
                far = self._cells.get(_Where(where.port, where.neighbour, "port"))
                told = None if far is None or far.value in (None, "") else str(far.value)
                heard[where.port] = (str(cell.value), told)
        gone, self._deleted = self._deleted, set()
        return self._cables.changes(device, ts_us, cluster, heard, complete=complete, gone=gone)


def _where(elems: tuple[Elem, ...]) -> _Where | None:
    if not elems:
        return None
    names = [e.name for e in elems]
    if SONIC_TABLE in names[:-2]:
        return _Where(names[-2], SONIC_TABLE, _LEAVES.get(names[-1], names[-1]))
    if "lldp" not in names:
        return None
    port, neighbour = _keys(elems)
    if port is None or neighbour is None:
        return None
    return _Where(port, neighbour, _LEAVES.get(names[-1], names[-1]))


def _keys(elems: tuple[Elem, ...]) -> tuple[str | None, str | None]:
    """Port and neighbour, as far as the path names them."""
    port = neighbour = None
    for e in elems:
        keys = dict(e.keys)
        if e.name in _PORTS:
            port = keys.get(_PORTS[e.name], port)
        elif e.name in _NEIGHBOURS and e.keys:
            neighbour = "/".join(keys.values())
    return port, neighbour
