"""JSON of a device -> cells: every leaf below an object, found by key the second time."""

from collections.abc import Callable
from typing import Any

from collectors.fabric.cell import Cell
from collectors.fabric.reading import Raw, number
from collectors.gnmi.path import GnmiPath, elem

Stamp = tuple[int, int]
DEEPEST = 64
"""Path elements; models have some twenty. What lies deeper is read past."""
DIGITS = 38
"""A number of so many is within 128 bits."""
_LIST_KEYS = ("name", "interface-id", "index", "queue-type", "id")
"""Leaves that are keys of the YANG lists we meet."""
_KEYS_OF: dict[str, tuple[str, ...]] = {
    "port": ("port-id",),
    "queue": ("name", "queue-name"),
    "out-queue": ("queue-number",),
    "statistic": ("interface-name",),
    "QueuingStats-list": ("cmapName", "statType"),
    "switch-priority": ("priority",),
    "priority-group": ("pg-id",),
    "dest-mac": ("mac-type",),
    "remote-system": ("index",),
}
"""Lists whose keys have names of their own, some of which are plain leaves elsewhere."""


class Container:
    """A JSON object of the device. A child None is ignored."""

    __slots__ = ("children", "odd", "path", "stamp")

    def __init__(self, path: GnmiPath) -> None:
        self.children: dict[object, Cell | Container | None] = {}
        self.odd: set[object] = set()
        """Keys whose value was not always a whole number."""
        self.path = path
        self.stamp: Stamp = (0, 0)


class Tree:
    """Walks containers. `learn` finds the cell of a leaf, `put` reads a value into it."""

    def __init__(
        self,
        learn: Callable[[GnmiPath], Cell],
        put: Callable[[Cell, Raw, Stamp], None],
        *,
        keep_ignored: bool,
    ) -> None:
        self._learn = learn
        self._put = put
        self._keep_ignored = keep_ignored
        self.leaves = 0
        """Values met since the count was last taken."""
        self.entries = 0
        """Keys remembered."""

    def walk(self, node: Container, raw: Raw, stamp: Stamp) -> None:
        """Every leaf below a JSON object or a list of them."""
        if isinstance(raw, list):
            for item in raw:
                self._item(node, item, stamp)
            return
        if not isinstance(raw, dict):
            self.leaves += 1
            self._put(self._learn(node.path), raw, stamp)
            return
        children = node.children
        for key, value in raw.items():
            child = children.get(key, node)
            if child is node:
                child = self._grow(node, key, value)
            if isinstance(child, Container):
                self.walk(child, value, stamp)
                continue
            self.leaves += 1
            if child is None:
                continue
            if type(value) is str and len(value) <= DIGITS and child.reader is number and stamp >= child.stamp:
                try:
                    child.value = int(value)
                except ValueError:
                    self._put(child, value, stamp)
                else:
                    child.stamp = stamp
            else:
                self._put(child, value, stamp)

    def _item(self, node: Container, item: Any, stamp: Stamp) -> None:
        """One entry of a YANG list: its keys stand among its leaves."""
        if not isinstance(item, dict):
            return
        bare = {elem(key).name: key for key in item}
        keys = {
            name: str(item[bare[name]])
            for name in _KEYS_OF.get(node.path.elems[-1].name if node.path.elems else "", _LIST_KEYS)
            if name in bare and isinstance(item[bare[name]], str | int)
        }
        place = tuple(keys.items())
        child = node.children.get(place)
        if not isinstance(child, Container):
            head, last = node.path.elems[:-1], node.path.elems[-1] if node.path.elems else elem("")
            child = Container(GnmiPath((*head, elem(last.name, keys)), node.path.origin, node.path.target))
            node.children[place] = child
        key_leaves = {bare[name] for name in keys}
        self.walk(child, {k: v for k, v in item.items() if k not in key_leaves}, stamp)

    def _grow(self, node: Container, key: str, value: Any) -> Cell | Container | None:
        path = node.path + GnmiPath((elem(key),))
        child: Cell | Container | None
        if len(path.elems) > DEEPEST:
            child = None
        elif is_container(value):
            child = Container(path)
        else:
            child = self._learn(path)
            counter = child.series.counter
            if counter is not None and counter.ignored and not self._keep_ignored:
                child = None
        node.children[key] = child
        self.entries += 1
        return child


def is_container(raw: Raw) -> bool:
    """An object, or a list of objects; a list of plain values is a leaf."""
    return isinstance(raw, dict) or (isinstance(raw, list) and bool(raw) and isinstance(raw[0], dict))
