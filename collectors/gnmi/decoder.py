"""Bytes of one gNMI stream -> the cells of one device, cut into a `PortScrape` when a round is in.

The path bytes are the key of a dictionary: a known series costs two look-ups and two stores a value. Only
what is new or not an unsigned integer is taken apart.
"""

from typing import Any

from collectors.contract.fabric import Link, PortScrape
from collectors.fabric.cell import Cell
from collectors.fabric.grid import Grid
from collectors.fabric.reading import Raw
from collectors.fabric.series import Site
from collectors.gnmi import wire
from collectors.gnmi.catalog import Catalog
from collectors.gnmi.layout import Layouts
from collectors.gnmi.mapping import Mapping, Subscribed
from collectors.gnmi.neighbours import Neighbours
from collectors.gnmi.objects import Objects
from collectors.gnmi.path import GnmiPath, read_path
from collectors.gnmi.tree import Container, Tree, is_container
from collectors.gnmi.value import ValueForm, plain, read_json

CACHE_LIMIT = 1_000_000
"""Byte forms kept: a path with k list keys has k! forms, and a device may invent more."""
CLOCK_TOLERANCE_US = 300_000_000
"""A device's clock further off than this is not believed."""
SET_BACK_NS = 10_000_000_000
"""Within one stream nothing is late by so much: the device's clock was set back."""

_parse = wire.SubscribeResponse.FromString


class StreamError(Exception):
    """The device reported an error inside the stream."""


class Decoder:
    """One stream of one device. A new stream needs a new decoder: a device may change its form."""

    def __init__(
        self,
        device: str,
        *,
        cluster: str = "default",
        site: Site = Site(),  # noqa: B008 (frozen)
        subscribed: tuple[Subscribed, ...] = (),
        interval_us: int = 0,
        keep_ignored: bool = False,
        neighbours: Neighbours | None = None,
        baseline: bool = True,
        layouts: Layouts | None = None,
    ) -> None:
        self.device = device
        self.synced = False
        self.samples = 0
        """Values of the round so far."""
        self.taken = 0
        """Values of the round that was cut last."""
        self.late = 0
        """Values dropped because a newer one was there."""
        self._cluster = cluster
        self._grid = Grid(site=site, interval_us=interval_us, keep_ignored=keep_ignored)
        self._neighbours = neighbours if neighbours is not None else Neighbours()
        self._catalog = Catalog(self._grid, Mapping(site, subscribed), self._neighbours)
        self._tree = Tree(self._catalog.cell, self._put, keep_ignored=keep_ignored)
        self._half_round_ns = interval_us * 500
        self._baseline = baseline
        self._cells: dict[bytes, dict[bytes, Cell]] = {}
        self._objects = Objects(self._grid, self._put, layouts if layouts is not None else Layouts())
        self._entries = 0
        self._last_prefix = (b"", GnmiPath())
        self._newest = 0
        self._set_back = False
        self._round_start = 0
        self._links_at_us = 0

    def feed(self, raw: bytes, received_us: int | None = None, *, side: bool = False) -> PortScrape | None:
        """Take one SubscribeResponse. Returns a scrape when it begins a new round or ends the snapshot.

        `side`: it came on a call beside that of the counters, whose end of a snapshot ends nothing here.

        Raises `wire.DecodeError` for bytes that are no response, `StreamError` for an error of the device.
        """
        response = _parse(raw)
        kind = response.WhichOneof("response")
        if kind == "update":
            return self._take(response.update, received_us)
        if kind == "sync_response":
            if side:
                return None
            self.synced = True
            return self.cut(received_us)
        if kind == "error":
            raise StreamError(bytes(response.error.message).decode("utf-8", "replace"))
        return None

    def note(self, what: str, why: str) -> None:
        """Something that the next scrape tells among its errors."""
        self._grid.complain(what, why)

    def cut(self, received_us: int | None = None, *, standing: bool = False) -> PortScrape | None:
        """What stands in the cells. None when nothing came since the last cut.

        `standing`: also then, as of `received_us`, where a switch tells only changes.
        """
        if self.samples == 0 and not (standing and received_us is not None and len(self._grid)):
            return None
        ts_us = self._newest // 1000
        if self.samples == 0 and received_us is not None:
            ts_us = received_us
        if received_us is not None and (self._set_back or abs(ts_us - received_us) > CLOCK_TOLERANCE_US):
            self._grid.complain("clock", f"device says {ts_us} us; time of receipt used")
            ts_us = received_us
        scrape = self._grid.cut(self.device, ts_us, cluster=self._cluster, baseline=self._baseline)
        self._links_at_us = ts_us
        self.taken, self.samples = self.samples, 0
        self._round_start = 0
        if not scrape.ports and not scrape.errors:
            return None
        self._baseline = False
        return scrape

    def links(self) -> list[Link]:
        """Cables that changed up to the last cut."""
        return self._neighbours.links(self.device, self._links_at_us, self._cluster, complete=self.synced)

    def _take(self, note: Any, received_us: int | None) -> PortScrape | None:
        ts = note.timestamp if note.timestamp > 0 else (received_us or 0) * 1000
        prefix = note.prefix
        if note.delete:
            self._delete(prefix, note.delete, ts)
        updates = note.update
        if not updates:
            return None
        cells = self._cells.get(prefix)
        if cells is None:
            cells = self._cells[prefix] = {}
            self._count_entry()
        if cells:
            self._grid.settle()
        scrape = None
        if self._is_new_round(cells, prefix, updates[0].path, ts):
            scrape = self.cut(received_us)
        stamp = (ts, self._grid.round)
        if received_us is not None and self._newest - ts > SET_BACK_NS:
            self._set_back, self._newest = True, ts
        late = ts < self._newest
        if not late:
            self._newest = ts
        self._round_start = self._round_start or ts
        self.samples += len(updates)
        for update in updates:
            cell = cells.get(update.path)
            if cell is not None:
                if late and ts < cell.stamp[0] <= self._newest:
                    self.late += 1
                    continue
                value = update.val
                n = value.uint_val
                if n or value.WhichOneof("value") == "uint_val":
                    cell.value = n
                    cell.stamp = stamp
                    continue
            if cell is None and not late and (leaves := self._objects.again(prefix, update, stamp)) is not None:
                self.samples += leaves - 1
                continue
            self._other(cells, prefix, update, cell, stamp)
        return scrape

    def _is_new_round(self, cells: dict[bytes, Cell], prefix: bytes, path: bytes, ts: int) -> bool:
        """A value that came already in this round comes again, with a newer time."""
        known = cells.get(path) or self._objects.container(prefix, path)
        return (
            known is not None
            and known.stamp[1] == self._grid.round
            and ts > known.stamp[0]
            and ts - self._round_start >= self._half_round_ns
        )

    def _other(
        self, cells: dict[bytes, Cell], prefix: bytes, update: Any, cell: Cell | None, stamp: tuple[int, int]
    ) -> None:
        """A value that is new here, or no unsigned integer."""
        self._grid.settle()
        try:
            raw = plain(update.val)
            if raw is None and update.value.value:
                raw = read_json(update.value.value)
        except ValueForm as why:
            self._grid.complain(str(self._path(prefix, update.path)), str(why))
            if cell is not None:
                self._put(cell, None, stamp)
            return
        if is_container(raw):
            container = self._objects.container(prefix, update.path)
            if container is None:
                container = Container(self._path(prefix, update.path))
                self._objects.add(prefix, update.path, container)
                self._count_entry()
            container.stamp = max(stamp, container.stamp)
            if isinstance(raw, dict) and (renamed := self._catalog.table(container.path, raw)) is not None:
                if renamed:
                    self._forget_bytes()
                return
            self._tree.leaves = 0
            self._tree.walk(container, raw, stamp)
            self.samples += self._tree.leaves - 1
            if isinstance(raw, dict):
                self._objects.learn(prefix, update.path, raw)
            return
        if cell is None:
            cell = cells[update.path] = self._catalog.cell(self._path(prefix, update.path))
            self._count_entry()
        self._put(cell, raw, stamp)

    def _put(self, cell: Cell, raw: Raw, stamp: tuple[int, int]) -> None:
        if stamp[0] < cell.stamp[0] <= self._newest:
            self.late += 1
        else:
            self._grid.put(cell, raw, stamp)

    def _path(self, prefix: bytes, path: bytes) -> GnmiPath:
        if prefix != self._last_prefix[0]:
            self._last_prefix = (prefix, read_path(prefix))
        return self._last_prefix[1] + read_path(path)

    def _count_entry(self) -> None:
        self._entries += 1
        if self._entries + self._tree.entries > CACHE_LIMIT:
            self._forget_bytes()

    def _forget_bytes(self) -> None:
        """The cells stay; only the way to them is found again."""
        for cells in self._cells.values():
            cells.clear()
        self._cells.clear()
        self._objects.forget()
        self._entries = self._tree.entries = 0

    def _delete(self, prefix: bytes, paths: Any, ts: int) -> None:
        """A deleted node's values are gone, not zero."""
        self._grid.settle()
        for raw in paths:
            self._catalog.delete(self._path(prefix, raw), ts)
        self._forget_bytes()
