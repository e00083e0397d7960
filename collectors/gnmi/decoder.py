"""Bytes of one gNMI stream -> the cells of one device, cut into a `PortScrape` when a round is in.

The path bytes are the key of a dictionary: a known series costs two look-ups and two stores a value. Only
what is new or not an unsigned integer is taken apart.
"""

from typing import Any

from collectors.contract.fabric import Link, PortScrape
from collectors.fabric.grid import Cell, Grid
from collectors.fabric.reading import Raw, number
from collectors.fabric.series import Series, Site
from collectors.gnmi import wire
from collectors.gnmi.mapping import Mapping, Subscribed, covers
from collectors.gnmi.neighbours import Neighbours
from collectors.gnmi.path import Elem, GnmiPath, elem, read_path
from collectors.gnmi.value import ValueForm, plain, read_json

CACHE_LIMIT = 1_000_000
"""Byte forms kept: a path with k list keys has k! forms, and a device may invent more."""
CLOCK_TOLERANCE_US = 300_000_000
"""A device's clock further off than this is not believed."""
_LIST_KEYS = ("name", "interface-id", "index", "queue-type", "id")

_parse = wire.SubscribeResponse.FromString


class StreamError(Exception):
    """The device reported an error inside the stream."""


class _Container:
    """A JSON object of the device: children by key, so that a known key costs one look-up."""

    __slots__ = ("children", "path", "stamp")

    def __init__(self, path: GnmiPath) -> None:
        self.children: dict[object, Cell | _Container | None] = {}
        self.path = path
        self.stamp = (0, 0)


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
    ) -> None:
        self.device = device
        self.synced = False
        self.samples = 0
        """Values of the round so far."""
        self.late = 0
        """Values dropped because a newer one was there."""
        self._cluster = cluster
        self._mapping = Mapping(site, subscribed)
        self._grid = Grid(site=site, interval_us=interval_us, keep_ignored=keep_ignored)
        self._keep_ignored = keep_ignored
        self._half_round_ns = interval_us * 500
        self._neighbours = neighbours if neighbours is not None else Neighbours()
        self._baseline = baseline
        self._cells: dict[bytes, dict[bytes, Cell]] = {}
        self._containers: dict[tuple[bytes, bytes], _Container] = {}
        self._paths: dict[Series, GnmiPath] = {}
        self._entries = 0
        self._newest = 0
        self._round_start = 0
        self._links_at_us = 0

    def feed(self, raw: bytes, received_us: int | None = None) -> PortScrape | None:
        """Take one SubscribeResponse. Returns a scrape when it begins a new round or ends the snapshot.

        Raises `wire.DecodeError` for bytes that are no response, `StreamError` for an error of the device.
        """
        response = _parse(raw)
        kind = response.WhichOneof("response")
        if kind == "update":
            return self._take(response.update, received_us)
        if kind == "sync_response":
            self.synced = True
            return self.cut(received_us)
        if kind == "error":
            raise StreamError(bytes(response.error.message).decode("utf-8", "replace"))
        return None

    def cut(self, received_us: int | None = None) -> PortScrape | None:
        """What stands in the cells. None when nothing came since the last cut."""
        if self.samples == 0:
            return None
        ts_us = self._newest // 1000
        if received_us is not None and abs(ts_us - received_us) > CLOCK_TOLERANCE_US:
            self._grid.errors["clock"] = f"device says {ts_us} us; time of receipt used"
            ts_us = received_us
        scrape = self._grid.cut(self.device, ts_us, cluster=self._cluster, baseline=self._baseline)
        self._links_at_us = ts_us
        self._baseline = False
        self.samples = 0
        self._round_start = 0
        return scrape

    def links(self) -> list[Link]:
        """Cables that changed up to the last cut."""
        return self._neighbours.links(self.device, self._links_at_us, self._cluster)

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
        scrape = None
        if self._is_new_round(cells, prefix, updates[0].path, ts):
            scrape = self.cut(received_us)
        stamp = (ts, self._grid.round)
        late = ts < self._newest
        if not late:
            self._newest = ts
        self._round_start = self._round_start or ts
        self.samples += len(updates)
        for update in updates:
            cell = cells.get(update.path)
            if cell is not None:
                if late and ts < cell.stamp[0]:
                    self.late += 1
                    continue
                value = update.val
                n = value.uint_val
                if n or value.WhichOneof("value") == "uint_val":
                    cell.value = n
                    cell.stamp = stamp
                    continue
            self._other(cells, prefix, update, cell, stamp)
        return scrape

    def _is_new_round(self, cells: dict[bytes, Cell], prefix: bytes, path: bytes, ts: int) -> bool:
        """A value that came already in this round comes again, with a newer time."""
        known = cells.get(path) or self._containers.get((prefix, path))
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
        try:
            raw = plain(update.val)
            if raw is None and update.value.value:
                raw = read_json(update.value.value)
        except ValueForm as why:
            self._grid.errors[str(read_path(prefix) + read_path(update.path))] = str(why)
            return
        if isinstance(raw, dict) or (isinstance(raw, list) and raw and isinstance(raw[0], dict)):
            container = self._containers.get((prefix, update.path))
            if container is None:
                container = _Container(read_path(prefix) + read_path(update.path))
                self._containers[prefix, update.path] = container
                self._count_entry()
            container.stamp = max(stamp, container.stamp)
            self.samples -= 1
            self._walk(container, raw, stamp)
            return
        if cell is None:
            cell = cells[update.path] = self._learn(read_path(prefix) + read_path(update.path))
            self._count_entry()
        self._put(cell, raw, stamp)

    def _put(self, cell: Cell, raw: Raw, stamp: tuple[int, int]) -> None:
        if stamp[0] < cell.stamp[0]:
            self.late += 1
        else:
            self._grid.put(cell, raw, stamp)

    def _learn(self, path: GnmiPath) -> Cell:
        if Neighbours.owns(path):
            return self._neighbours.cell(path)
        series = self._mapping.series(path)
        self._paths[series] = path
        return self._grid.cell(series)

    def _count_entry(self) -> None:
        self._entries += 1
        if self._entries > CACHE_LIMIT:
            self._forget_bytes()

    def _forget_bytes(self) -> None:
        """The cells stay; only the way to them is found again."""
        for cells in self._cells.values():
            cells.clear()
        self._containers.clear()
        self._entries = 0

    def _walk(self, node: _Container, raw: Raw, stamp: tuple[int, int]) -> None:
        """Every leaf below a JSON object or a list of them. `None` among the children: ignored."""
        if isinstance(raw, list):
            for item in raw:
                self._item(node, item, stamp)
            return
        if not isinstance(raw, dict):
            return
        children = node.children
        for key, value in raw.items():
            child = children.get(key, node)
            if child is node:
                child = self._grow(node, key, value)
            if child is None:
                self.samples += 1
            elif isinstance(child, _Container):
                if isinstance(value, dict | list):
                    self._walk(child, value, stamp)
                else:
                    self.samples += 1
                    self._put(self._learn(child.path), value, stamp)
            else:
                self.samples += 1
                if type(value) is str and child.reader is number and stamp >= child.stamp:
                    try:
                        child.value = int(value)
                    except ValueError:
                        self._put(child, value, stamp)
                    else:
                        child.stamp = stamp
                else:
                    self._put(child, value, stamp)

    def _item(self, node: _Container, item: object, stamp: tuple[int, int]) -> None:
        """One entry of a YANG list: its keys stand among its leaves."""
        if not isinstance(item, dict):
            return
        bare = {elem(key).name: key for key in item}
        keys = {k: str(item[bare[k]]) for k in _LIST_KEYS if isinstance(item.get(bare.get(k)), str | int)}
        place = tuple(keys.items())
        child = node.children.get(place)
        if not isinstance(child, _Container):
            head, last = node.path.elems[:-1], node.path.elems[-1]
            child = _Container(GnmiPath((*head, elem(last.name, keys)), node.path.origin, node.path.target))
            node.children[place] = child
        self._walk(child, {k: v for k, v in item.items() if k not in {bare[name] for name in keys}}, stamp)

    def _grow(self, node: _Container, key: str, value: object) -> Cell | _Container | None:
        path = node.path + GnmiPath((elem(key),))
        child: Cell | _Container | None
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            child = _Container(path)
        else:
            child = self._learn(path)
            counter = child.series.counter
            if counter is not None and counter.ignored and not self._keep_ignored:
                child = None
        node.children[key] = child
        self._count_entry()
        return child

    def _delete(self, prefix: bytes, paths: Any, ts: int) -> None:
        """A deleted node's values are gone, not zero."""
        for raw in paths:
            gone = read_path(prefix) + read_path(raw)
            dead = {
                series
                for series, path in self._paths.items()
                if covers(gone.elems, path.elems) and self._grid.cell(series).stamp[0] <= ts
            }
            self._grid.drop(dead.__contains__)
            for series in dead:
                del self._paths[series]
            self._delete_neighbours(gone.elems)
        self._forget_bytes()

    def _delete_neighbours(self, elems: tuple[Elem, ...]) -> None:
        if elems and elems[0].name == "lldp":
            keys = {e.name: next(iter(e.keys), ("", ""))[1] for e in elems}
            if "interface" in keys:
                self._neighbours.drop(keys["interface"], keys.get("neighbor"))
