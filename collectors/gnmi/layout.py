"""A JSON object whose keys were met before -> its cells, without its keys or numbers becoming text.

The keys make a struct type, so that msgspec compares them in place and reads a number, also one in quotes, into an
integer. Whatever is not exactly so - a key more or less, a number that is none or beyond 64 bits, broken JSON -
is refused before a cell is touched, and is read the slow way.
"""

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Annotated, Any

import msgspec
from msgspec.structs import astuple

from collectors.fabric.grid import Cell
from collectors.fabric.reading import Raw, number
from collectors.gnmi.tree import Container, Stamp

MOST_KEYS = 4096
"""Of one object: keys that come in another order are searched for."""
MOST_SHAPES = 256
PAID_OFF = 16
"""Objects read by a layout until it was worth being made."""
LONGEST_WAIT = 255
"""Objects read the slow way until a layout is made again."""
_Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

Put = Callable[[Cell, Raw, Stamp], None]
Signature = tuple[tuple[str, Any], ...]


class _Unlike(Exception):
    """An object for which there is no layout."""


class _Node:
    """Where the values of one object go, by their places in it."""

    __slots__ = ("cells", "inner", "odd", "pick")

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        """Of whole numbers."""
        self.pick: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None
        """The whole numbers among the values. None: all are."""
        self.odd: list[tuple[int, Cell]] = []
        self.inner: list[tuple[int, _Node]] = []

    def fill(self, held: msgspec.Struct, stamp: Stamp, put: Put) -> None:
        """Put one object's values into their cells."""
        values = astuple(held)
        for cell, value in zip(self.cells, values if self.pick is None else self.pick(values), strict=True):
            cell.value = value
            cell.stamp = stamp
        for at, cell in self.odd:
            put(cell, values[at], stamp)
        for at, node in self.inner:
            node.fill(values[at], stamp, put)

    def all_cells(self) -> Iterator[Cell]:
        """Here and below."""
        yield from self.cells
        for _, cell in self.odd:
            yield cell
        for _, node in self.inner:
            yield from node.all_cells()


class Layout:
    """The way from the bytes of one object to its cells."""

    __slots__ = ("_decode", "_node", "leaves")

    def __init__(self, decode: Callable[[bytes], msgspec.Struct], node: _Node, leaves: int) -> None:
        self._decode = decode
        self._node = node
        self.leaves = leaves

    def take(self, raw: bytes, stamp: Stamp, put: Put) -> bool:
        """Whether the object was as expected. If not, nothing was changed."""
        try:
            held = self._decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        self._node.fill(held, stamp, put)
        return True


class Layouts:
    """Makes layouts. Objects of the same keys and kinds, such as ports, share a type."""

    def __init__(self, most_keys: int = MOST_KEYS) -> None:
        self._most_keys = most_keys
        self._types: dict[Signature, type[msgspec.Struct]] = {}
        self._decoders: dict[type[msgspec.Struct], Callable[[bytes], msgspec.Struct]] = {}

    def layout(self, container: Container, raw: dict[str, Any]) -> Layout | None:
        """Of an object that the tree has just walked. None where only the slow way is exact."""
        if len(self._types) > MOST_SHAPES:
            self._types.clear()
            self._decoders.clear()
        try:
            node, type_, leaves = self._node(container, raw)
        except _Unlike:
            return None
        cells = list(node.all_cells())
        if len(set(cells)) < len(cells):
            return None  # of two keys for one cell the last one counts, which only the object's own order tells
        decode = self._decoders.get(type_)
        if decode is None:
            decode = self._decoders[type_] = msgspec.json.Decoder(type_, strict=False).decode
        return Layout(decode, node, leaves)

    def _node(self, container: Container, raw: dict[str, Any]) -> tuple[_Node, type[msgspec.Struct], int]:
        if len(raw) > self._most_keys:
            raise _Unlike
        node, signature, leaves, places = _Node(), [], 0, []
        kind: Any
        for at, (key, value) in enumerate(raw.items()):
            child = container.children.get(key)
            if isinstance(child, Container):
                if not isinstance(value, dict):
                    raise _Unlike
                inner, kind, below = self._node(child, value)
                node.inner.append((at, inner))
                leaves += below
            else:
                kind = Any
                leaves += 1
                if child is not None and key not in container.odd and _is_whole(child, value):
                    kind = _Whole
                    node.cells.append(child)
                    places.append(at)
                elif child is not None:
                    container.odd.add(key)
                    node.odd.append((at, child))
            signature.append((key, kind))
        if len(places) < len(raw):
            node.pick = _picking(places)
        return node, self._type(tuple(signature)), leaves

    def _type(self, signature: Signature) -> type[msgspec.Struct]:
        made = self._types.get(signature)
        if made is None:
            try:
                made = self._types[signature] = msgspec.defstruct(
                    "Object",
                    [(f"f{n}", kind) for n, (_, kind) in enumerate(signature)],
                    rename={f"f{n}": key for n, (key, _) in enumerate(signature)},
                    forbid_unknown_fields=True,
                    gc=False,
                )
            except ValueError:  # a key with a quote or a control character
                raise _Unlike from None
        return made


class JsonObject:
    """One object of the device as it comes again and again, with its layout while it keeps to one."""

    __slots__ = ("_layout", "_served", "_wait", "_waits", "container")

    def __init__(self, container: Container) -> None:
        self.container = container
        self._layout: Layout | None = None
        self._served = 0
        self._wait = self._waits = 1

    def take(self, raw: bytes, stamp: Stamp, put: Put) -> int | None:
        """The number of values that were put into their cells. None: nothing was done, read it the slow way."""
        layout = self._layout
        if layout is None:
            return None
        if layout.take(raw, stamp, put):
            self._served += 1
            return layout.leaves
        self._layout = None
        # One that did not last is not worth making again soon.
        self._wait = self._waits = 0 if self._served >= PAID_OFF else min(2 * self._waits + 1, LONGEST_WAIT)
        return None

    def learn(self, raw: dict[str, Any], layouts: Layouts) -> None:
        """After the slow way: the object as it was walked."""
        if self._wait > 0:
            self._wait -= 1
            return
        self._layout, self._served = layouts.layout(self.container, raw), 0
        if self._layout is None:
            self._wait = LONGEST_WAIT


def _is_whole(cell: Cell, raw: Raw) -> bool:
    if cell.reader is not number or isinstance(raw, bool) or not isinstance(cell.value, int):
        return False
    return isinstance(raw, int | str) and -(2**63) <= cell.value < 2**63


def _picking(places: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    at = places[0] if places else 0
    return itemgetter(slice(at, at + len(places)))
