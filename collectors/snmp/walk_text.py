"""The text of `snmpwalk -On` -> names and values, as an agent would have sent them."""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from collectors.snmp import oid
from collectors.snmp.ber import BerError
from collectors.snmp.value import Absent, Value, Varbind

_ENTRY = re.compile(r"(?P<name>(?:\.?\d+|iso)(?:\.\d+)+) = (?P<value>.*)", re.DOTALL)
_TYPED = re.compile(r"(?P<type>[A-Za-z][A-Za-z0-9 -]*?): ?(?P<rest>.*)", re.DOTALL)
_WRONG = re.compile(r"Wrong Type \(should be [^)]*\): ")
_NUMBER = re.compile(r"(-?\d+)(?: [A-Za-z%/ -]+)?")
_STATE = re.compile(r"[\w-]+\((-?\d+)\)")
_BYTE = re.compile(r"[0-9A-Fa-f]{2}")
_TICKS = re.compile(r"\((\d+)\).*")
_FLOAT = re.compile(r"(?:Opaque: )?(?:Float|Double): (-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")
_ABSENT = (
    ("No Such Object", Absent.OBJECT),
    ("No Such Instance", Absent.INSTANCE),
    ("No more variables left", Absent.END),
)
LONGEST = 64 << 10
"""Characters of one value: what an OCTET STRING of one UDP datagram can hold."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that could not be read, with its number."""

    line: int
    text: str
    why: str


def read_walk(text: str) -> tuple[list[Varbind], list[BadLine]]:
    """Every entry. A last line without its end is not read: it may be cut off in a number."""
    found: list[Varbind] = []
    bad: list[BadLine] = []
    for number, entry in _entries(text, bad):
        try:
            found.append(_varbind(entry))
        except (ValueError, BerError) as why:
            bad.append(BadLine(number, entry.partition("\n")[0], str(why)))
    return found, bad


def _entries(text: str, bad: list[BadLine]) -> Iterator[tuple[int, str]]:
    """Entries with the number of their first line. Values may go over many lines."""
    *lines, rest = text.split("\n")
    if rest:
        bad.append(BadLine(len(lines) + 1, rest, "the last line has no end; it may be cut off"))
    held: list[str] = []
    begun = size = 0
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r")
        if _ENTRY.match(line):
            if held:
                yield begun, "\n".join(held)
            held, begun, size = [line], number, len(line)
        elif held and size < LONGEST:
            held.append(line)
            size += len(line)
        elif line.strip():
            bad.append(BadLine(number, line, "no name and value; write the walk with `snmpwalk -On`"))
    if held:
        yield begun, "\n".join(held)


def _varbind(entry: str) -> Varbind:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise ValueError("no name and value")
    name = found["name"].replace("iso", "1", 1).lstrip(".")
    return Varbind(oid.pack(tuple(map(int, name.split(".")))), _value(found["value"]))


def _value(text: str) -> Value:
    for words, absent in _ABSENT:
        if text.startswith(words):
            return absent
    if text.strip() in ('""', "NULL", ""):
        return None if text.strip() == "NULL" else b""
    text = _WRONG.sub("", text, count=1)
    if found := _FLOAT.fullmatch(text.strip()):
        return float(found[1])
    typed = _TYPED.match(text)
    read = None if typed is None else _READERS.get(typed["type"])
    if typed is None or read is None:
        raise ValueError(f"a value of no known type: {text[:60]!r}")
    return read(typed["rest"])


def _number(text: str) -> int:
    found = _NUMBER.fullmatch(text.strip()) or _STATE.fullmatch(text.strip())
    if found is None or len(found[1]) > 21:
        raise ValueError(f"{text[:40]!r} is no number")
    return int(found[1])


def _ticks(text: str) -> int:
    found = _TICKS.fullmatch(text.strip())
    return _number(found[1] if found else text)


def _string(text: str) -> bytes:
    if len(text) > 1 and text[0] == text.rstrip()[-1] == '"':
        text = text.rstrip()[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return text.encode("utf-8", "surrogateescape")


def _hex(text: str) -> bytes:
    """Sixteen bytes a line; with their text beside them (`-OT`) they cannot be told apart."""
    return bytes.fromhex("".join(text.split()))


def _bits(text: str) -> bytes:
    """Bytes of two digits, then the numbers or names of the bits."""
    return bytes(int(part, 16) for part in itertools.takewhile(_BYTE.fullmatch, text.split()))


def _address(text: str) -> bytes:
    return bytes(int(part, 16 if ":" in text else 10) for part in re.split(r"[.:]", text.strip()))


def _identifier(text: str) -> oid.Numbers:
    return tuple(int(part) for part in text.strip().replace("iso", "1", 1).lstrip(".").split("."))


_READERS: dict[str, Callable[[str], Value]] = {
    **dict.fromkeys(("INTEGER", "Gauge32", "Unsigned32", "UInteger32", "Counter32", "Counter64", "Integer32"), _number),
    "Timeticks": _ticks,
    "STRING": _string,
    **dict.fromkeys(("Hex-STRING", "Opaque", "NsapAddress"), _hex),
    "BITS": _bits,
    **dict.fromkeys(("IpAddress", "Network Address"), _address),
    "OID": _identifier,
}
