"""The JSON objects of one stream by the bytes of their paths, each with the layout that it keeps to."""

from typing import Any

from collectors.fabric.cell import Stamp
from collectors.fabric.grid import Grid
from collectors.gnmi.layout import Layout, Layouts, Put
from collectors.gnmi.tree import Container

PAID_OFF = 16
"""Objects read by a layout until it was worth being made."""
LONGEST_WAIT = 255
"""Objects read the slow way until a layout is made again."""


class JsonObject:
    """One object of the device as it comes again and again, with its layout while it keeps to one."""

    __slots__ = ("_served", "_wait", "_waits", "container", "layout")

    def __init__(self, container: Container) -> None:
        self.container = container
        self.layout: Layout | None = None
        self._served = 0
        self._wait = self._waits = 1

    def take(self, raw: bytes, stamp: Stamp, grid: Grid, put: Put) -> Layout | None:
        """The layout by which its values are in their cells. None: nothing was done, read it the slow way."""
        layout = self.layout
        if layout is None:
            return None
        if layout.take(raw, stamp, grid, put):
            self._served += 1
            self.container.stamp = stamp
            return layout
        grid.let_go(layout.block)
        self.layout = None
        # One that did not last is not worth making again soon.
        self._wait = self._waits = 0 if self._served >= PAID_OFF else min(2 * self._waits + 1, LONGEST_WAIT)
        return None

    def learn(self, raw: dict[str, Any], grid: Grid, layouts: Layouts) -> None:
        """After the slow way: the object as it was walked."""
        if self._wait > 0:
            self._wait -= 1
            return
        self.layout, self._served = layouts.layout(self.container, raw), 0
        if self.layout is None:
            self._wait = LONGEST_WAIT
        else:
            grid.hold(self.layout.block)


class Objects:
    """`put` reads a value that is no whole number into its cell."""

    def __init__(self, grid: Grid, put: Put, layouts: Layouts) -> None:
        self._grid = grid
        self._put = put
        self._layouts = layouts
        self._known: dict[tuple[bytes, bytes], JsonObject] = {}

    def container(self, prefix: bytes, path: bytes) -> Container | None:
        """None for a path at which no object was yet."""
        known = self._known.get((prefix, path))
        return None if known is None else known.container

    def add(self, prefix: bytes, path: bytes, container: Container) -> None:
        """An object that came for the first time."""
        self._known[prefix, path] = JsonObject(container)

    def again(self, prefix: bytes, update: Any, stamp: Stamp) -> int | None:
        """The number of values, where the update is an object of the form that it had before: they are in.

        None: nothing was done. It must be newer than all before it.
        """
        known = self._known.get((prefix, update.path))
        if known is None:
            return None
        value = update.val
        layout = known.take(value.json_ietf_val or value.json_val, stamp, self._grid, self._put)
        return None if layout is None else layout.leaves

    def learn(self, prefix: bytes, path: bytes, raw: dict[str, Any]) -> None:
        """After an object was read the slow way."""
        self._known[prefix, path].learn(raw, self._grid, self._layouts)

    def forget(self) -> None:
        """All of them; their cells stay."""
        for known in self._known.values():
            if known.layout is not None:
                self._grid.let_go(known.layout.block)
        self._known.clear()
