"""Pickles of plain containers and scalars, and nothing else: a job's file must not run code here, nor fill the memory.

The form is Python's pickle (pickletools.py describes each opcode). PyTorch writes protocol 2 with a pickler of its own
(torch/csrc/jit/serialization/pickler.cpp), a script that converts a dump some later one. Nothing is imported, called
or built that is not a list, tuple, dict, string, number, bool or None.
"""

import struct
from collections.abc import Callable
from typing import Any

from collectors.flight_recorder.bounds import Bounds, CutError, DumpError
from collectors.flight_recorder.refusal import refusal

BOUNDS = Bounds()
_KEYS = frozenset({str, int})
_NESTED = frozenset({list, dict, tuple})
_STOP, _BINGET, _LONG_BINGET, _BININT1, _BININT2, _LONG1 = (ord("."), ord("h"), ord("j"), ord("K"), ord("M"), 0x8A)
_BINPUT, _MEMOIZE = ord("q"), 0x94
_U1, _U2, _U4, _U8 = (struct.Struct(form) for form in ("<B", "<H", "<I", "<Q"))
_I4, _I8, _F8 = struct.Struct("<i"), struct.Struct("<q"), struct.Struct(">d")
_UNKNOWN = "byte {}: it recalls what was not remembered"


def load(raw: bytes, bounds: Bounds = BOUNDS) -> Any:
    """The value of one pickle. Raises `DumpError`."""
    if len(raw) > bounds.bytes:
        raise DumpError(f"more than {bounds.bytes >> 20} MB")
    return _Machine(raw, bounds).run()


class _Machine:
    """A pickle machine without the opcodes that name things outside of the pickle."""

    __slots__ = ("_at", "_bounds", "_containers", "_depths", "_kept", "_marks", "_memo", "_raw", "_stack")

    def __init__(self, raw: bytes, bounds: Bounds) -> None:
        self._raw = raw
        self._bounds = bounds
        self._at = 0
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._containers = 0
        self._depths: dict[int, int] = {}
        """By identity; 1 is not written down. What stands here is kept, so that no identity is used again."""
        self._kept: list[Any] = []

    def run(self) -> Any:
        """The opcodes that make up most of a dump are done here; a call each would cost three times as much."""
        size, handlers, memo, push = len(self._raw), _HANDLERS, self._memo, self._stack.append
        raw = self._raw + b"\0" * 16  # whoever reads past the end ends there, and is told so
        at = 0
        for _ in range(self._bounds.opcodes):
            if at >= size:
                raise CutError(f"cut off after {size} bytes")
            code = raw[at]
            if code in (_BINGET, _LONG_BINGET):
                index = raw[at + 1] if code == _BINGET else _U4.unpack_from(raw, at + 1)[0]
                now, at = at, at + (2 if code == _BINGET else 5)
                if index not in memo:
                    raise CutError(f"cut off after {size} bytes") if at > size else DumpError(_UNKNOWN.format(now))
                push(memo[index])
            elif code == _BININT1:
                push(raw[at + 1])
                at += 2
            elif code == _BININT2:
                push(raw[at + 1] | raw[at + 2] << 8)
                at += 3
            elif code == _LONG1 and raw[at + 1] == 8:
                push(_I8.unpack_from(raw, at + 2)[0])
                at += 10
            elif code in (_BINPUT, _MEMOIZE):
                self._at = at + 1
                self.remember(raw[at + 1] if code == _BINPUT else len(memo))
                at += 2 if code == _BINPUT else 1
            elif code == _STOP:
                return self._result()
            else:
                self._at = at + 1
                handler = handlers.get(code)
                if handler is None:
                    raise refusal(code, at, raw, self._stack)
                handler(self)
                at = self._at
        raise DumpError(f"more than {self._bounds.opcodes} opcodes")

    def _result(self) -> Any:
        if len(self._stack) != 1 or self._marks:
            raise DumpError("the pickle does not leave one value")
        return self._stack[0]

    def take(self, count: int) -> bytes:
        """The next bytes."""
        at, end = self._at, self._at + count
        if count > self._bounds.bytes:
            raise DumpError(f"byte {at}: a length of {count} bytes")
        if end > len(self._raw):
            raise CutError(f"cut off after {len(self._raw)} bytes")
        self._at = end
        return self._raw[at:end]

    def number(self, form: "struct.Struct") -> Any:
        """The next number of that form."""
        return form.unpack(self.take(form.size))[0]

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def pop(self) -> Any:
        """What was pushed since the last mark."""
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise DumpError(f"byte {self._at - 1}: nothing is left to take")
        return self._stack.pop()

    def mark(self) -> None:
        if len(self._marks) >= self._bounds.depth:
            raise DumpError(f"byte {self._at - 1}: more than {self._bounds.depth} open lists")
        self._marks.append(len(self._stack))

    def since_mark(self) -> list[Any]:
        if not self._marks:
            raise DumpError(f"byte {self._at - 1}: no list is open")
        at = self._marks.pop()
        items = self._stack[at:]
        del self._stack[at:]
        return items

    def made(self, container: Any) -> None:
        """Push a new container."""
        self._containers += 1
        if self._containers > self._bounds.containers:
            raise DumpError(f"byte {self._at - 1}: more than {self._bounds.containers} containers")
        self._stack.append(container)

    def deepen(self, container: Any, items: list[Any]) -> None:
        """Hold that what is put into a container does not make it too deep.

        A container that is filled after it was put into another escapes this: whoever walks a dump must not recurse.
        """
        deepest, depths = 0, self._depths
        for item in items:
            if type(item) in _NESTED:
                deepest = max(deepest, depths.get(id(item), 1))
        if deepest >= self._bounds.depth:
            raise DumpError(f"byte {self._at - 1}: more than {self._bounds.depth} deep")
        if deepest and depths.get(id(container), 1) <= deepest:
            depths[id(container)] = deepest + 1
            self._kept.append(container)

    def top(self, kind: type) -> Any:
        """The container that is filled."""
        if not self._stack or type(self._stack[-1]) is not kind:
            raise DumpError(f"byte {self._at - 1}: no {kind.__name__} to fill")
        return self._stack[-1]

    def extend(self, items: list[Any]) -> None:
        into = self.top(list)
        self.deepen(into, items)
        into.extend(items)

    def set(self, items: list[Any]) -> None:
        into = self.top(dict)
        keys, values = items[::2], items[1::2]
        if len(keys) != len(values) or not _KEYS.issuperset(map(type, keys)):
            raise DumpError(f"byte {self._at - 1}: a key that is neither text nor a number")
        self.deepen(into, values)
        into.update(zip(keys, values, strict=True))

    def remember(self, index: int) -> None:
        if not self._stack or len(self._memo) >= self._bounds.memo:
            raise DumpError(f"byte {self._at - 1}: nothing to remember, or too much")
        self._memo[index] = self._stack[-1]

    def text(self, count: int) -> None:
        self.push(self.take(count).decode("utf-8", "replace"))

    def big(self, count: int) -> None:
        if count > self._bounds.int_bytes:
            raise DumpError(f"byte {self._at - 1}: a number of {count} bytes")
        self.push(int.from_bytes(self.take(count), "little", signed=True))

    def protocol(self, version: int) -> None:
        if version > 5:
            raise DumpError(f"pickle protocol {version}")

    def tuple_of(self, count: int) -> None:
        self._tuple([self.pop() for _ in range(count)][::-1])

    def tuple_since_mark(self) -> None:
        self._tuple(self.since_mark())

    def _tuple(self, items: list[Any]) -> None:
        made = tuple(items)
        self.made(made)
        self.deepen(made, items)


Handler = Callable[[_Machine], None]
_HANDLERS: dict[int, Handler] = {
    0x80: lambda m: m.protocol(m.number(_U1)),
    0x95: lambda m: m.number(_U8),
    ord("("): _Machine.mark,
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("J"): lambda m: m.push(m.number(_I4)),
    0x8A: lambda m: m.big(m.number(_U1)),
    0x8B: lambda m: m.big(m.number(_U4)),
    ord("G"): lambda m: m.push(m.number(_F8)),
    0x8C: lambda m: m.text(m.number(_U1)),
    ord("X"): lambda m: m.text(m.number(_U4)),
    0x8D: lambda m: m.text(m.number(_U8)),
    ord("C"): lambda m: m.push(m.take(m.number(_U1))),
    ord("B"): lambda m: m.push(m.take(m.number(_U4))),
    0x8E: lambda m: m.push(m.take(m.number(_U8))),
    ord("]"): lambda m: m.made([]),
    ord("}"): lambda m: m.made({}),
    ord(")"): lambda m: m.made(()),
    0x85: lambda m: m.tuple_of(1),
    0x86: lambda m: m.tuple_of(2),
    0x87: lambda m: m.tuple_of(3),
    ord("t"): _Machine.tuple_since_mark,
    ord("a"): lambda m: m.extend([m.pop()]),
    ord("e"): lambda m: m.extend(m.since_mark()),
    ord("s"): lambda m: m.set([m.pop(), m.pop()][::-1]),
    ord("u"): lambda m: m.set(m.since_mark()),
    ord("r"): lambda m: m.remember(m.number(_U4)),
}
"""Opcode -> what it does; `run` does the rest itself."""
