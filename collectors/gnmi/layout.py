"""A JSON object whose keys were met before -> its cells, without its keys or numbers becoming text.

The keys make a struct type, so that msgspec compares them in place and reads a number, also one in quotes, into an
integer. Whatever is not exactly so - a key more or less, a number that is none or beyond 64 bits, broken JSON -
is refused before a cell is touched, and is read the slow way.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Annotated, Any

import msgspec
from msgspec.structs import astuple

from collectors.fabric.block import Block
from collectors.fabric.cell import Cell, Stamp
from collectors.fabric.grid import Grid
from collectors.fabric.reading import Raw, number
from collectors.gnmi.tree import Container

MOST_KEYS = 4096
"""Of one object: keys that come in another order are searched for."""
MOST_SHAPES = 256
_Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

Put = Callable[[Cell, Raw, Stamp], None]
Signature = tuple[tuple[str, Any], ...]


class _Unlike(Exception):
    """An object for which there is no layout."""


class _Node:
    """How one object's values are laid in a row: depth first, in the order of its keys."""

    __slots__ = ("depth", "inner", "leaves")

    def __init__(self) -> None:
        self.inner: list[tuple[int, _Node]] = []
        """The objects in it, by their places."""
        self.leaves = 0
        self.depth = 0
        """Objects in objects, if all leaves lie equally deep; else -1."""

    def close(self, keys: int) -> None:
        """After its last key."""
        depths = {node.depth for _, node in self.inner}
        if len(self.inner) < keys:
            depths.add(-1 if self.inner else -2)
        deepest = depths.pop() if len(depths) == 1 else -1
        self.depth = {-2: 0, -1: -1}.get(deepest, deepest + 1)

    def row(self, held: msgspec.Struct) -> list[Any]:
        """All leaves."""
        values: Iterable[Any] = astuple(held)
        if self.depth >= 0:
            for _ in range(self.depth):
                values = chain.from_iterable(map(astuple, values))
            return list(values)
        row = list(values)
        for at, node in reversed(self.inner):
            row[at : at + 1] = node.row(row[at])
        return row


class Layout:
    """The way from the bytes of one object to its cells."""

    __slots__ = ("_decode", "_node", "_odd", "block", "leaves")

    def __init__(
        self, decode: Callable[[bytes], msgspec.Struct], node: _Node, block: Block, odd: list[tuple[int, Cell]]
    ) -> None:
        self._decode = decode
        self._node = node
        self._odd = odd
        """What is read one by one: text, states, and numbers that were not always whole."""
        self.block = block
        self.leaves = node.leaves

    def take(self, raw: bytes, stamp: Stamp, grid: Grid, put: Put) -> bool:
        """Whether the object was as expected. If not, nothing was changed."""
        try:
            held = self._decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        row = self._node.row(held)
        for place, cell in self._odd:
            put(cell, row[place], stamp)
        row.append(None)
        grid.take(self.block, row, stamp)
        return True


class _Places:
    """Where each leaf of an object stands in its row."""

    def __init__(self) -> None:
        self.count = 0
        self.whole: dict[Cell, int] = {}
        self.odd: dict[Cell, int] = {}

    def add(self, cell: Cell, *, whole: bool) -> None:
        """The next leaf's. Raises `_Unlike` for a cell's second key: the last one counts, which a row cannot tell."""
        if cell in self.whole or cell in self.odd:
            raise _Unlike
        (self.whole if whole else self.odd)[cell] = self.count


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
        places = _Places()
        try:
            node, type_ = self._node(container, raw, places)
        except _Unlike:
            return None
        decode = self._decoders.get(type_)
        if decode is None:
            decode = self._decoders[type_] = msgspec.json.Decoder(type_, strict=False).decode
        block = Block(list(places.whole), list(places.whole.values()), list(places.odd))
        return Layout(decode, node, block, [(place, cell) for cell, place in places.odd.items()])

    def _node(self, container: Container, raw: dict[str, Any], places: _Places) -> tuple[_Node, type[msgspec.Struct]]:
        if len(raw) > self._most_keys:
            raise _Unlike
        node, signature = _Node(), []
        kind: Any
        for at, (key, value) in enumerate(raw.items()):
            child = container.children.get(key)
            if isinstance(child, Container):
                if not isinstance(value, dict):
                    raise _Unlike
                inner, kind = self._node(child, value, places)
                node.inner.append((at, inner))
                node.leaves += inner.leaves
            else:
                whole = child is not None and key not in container.odd and _is_whole(child, value)
                kind = _Whole if whole else Any
                if child is not None:
                    places.add(child, whole=whole)
                if not whole:
                    container.odd.add(key)
                places.count += 1
                node.leaves += 1
            signature.append((key, kind))
        node.close(len(raw))
        return node, self._type(tuple(signature))

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


def _is_whole(cell: Cell, raw: Raw) -> bool:
    if cell.reader is not number or isinstance(raw, bool) or not isinstance(cell.value, int):
        return False
    return isinstance(raw, int | str) and -(2**63) <= cell.value < 2**63
