"""One value of an answer, made a Python value."""

import struct
from enum import Enum
from typing import NamedTuple

from collectors.snmp import oid
from collectors.snmp.ber import INTEGER, NULL, OCTETS, OID, BerError, content, header, signed, unsigned

IP_ADDRESS, COUNTER32, GAUGE32, TIME_TICKS, OPAQUE, NSAP, COUNTER64, UINTEGER32 = range(0x40, 0x48)
BITS = {COUNTER32: 32, GAUGE32: 32, TIME_TICKS: 32, COUNTER64: 64, UINTEGER32: 32}
_FLOATS = {0x78: (">f", 4), 0x79: (">d", 8)}
"""Net-SNMP's numbers inside an Opaque: 0x9f, then one of these tags (draft-perkins-opaque-01)."""


class Absent(Enum):
    """Why there is no value (RFC 3416, section 3). Never zero."""

    OBJECT = "no such object"
    INSTANCE = "no such instance"
    END = "end of the MIB view"


ABSENT = {0x80: Absent.OBJECT, 0x81: Absent.INSTANCE, 0x82: Absent.END}
Value = int | float | bytes | oid.Numbers | Absent | None
"""bytes: an OCTET STRING or an address; numbers: an object identifier; None: NULL."""


class Varbind(NamedTuple):
    """One name and its value; `name` as the bytes that stand on the wire."""

    name: bytes
    value: Value


def read_value(raw: bytes, at: int, end: int) -> tuple[Value, int]:
    """The value at `at` and where it ends. Raises `BerError`."""
    tag, start, stop = header(raw, at, end)
    if tag == INTEGER:
        return signed(raw, start, stop), stop
    if (bits := BITS.get(tag)) is not None:
        return unsigned(raw, start, stop, bits), stop
    if tag == OPAQUE:
        return _opaque(raw[start:stop]), stop
    if tag in (OCTETS, IP_ADDRESS, NSAP):
        return raw[start:stop], stop
    if tag == OID:
        return oid.unpack(raw[start:stop]), stop
    if tag in ABSENT:
        return ABSENT[tag], stop
    if tag == NULL:
        return None, stop
    raise BerError(f"a value of type 0x{tag:02x}, which SNMP does not have")


def read_varbind(raw: bytes, at: int, end: int) -> tuple[Varbind, int]:
    """The name and value at `at`, and where they end. Raises `BerError`."""
    start, stop = content(raw, at, end, 0x30)
    name_at, name_end = content(raw, start, stop, OID)
    name = raw[name_at:name_end]
    oid.unpack(name)
    value, value_end = read_value(raw, name_end, stop)
    if value_end != stop:
        raise BerError("more than a name and a value in one place")
    return Varbind(name, value), stop


def read_varbinds(raw: bytes, at: int, end: int) -> list[Varbind]:
    """All of a list. Raises `BerError`."""
    out = []
    while at < end:
        found, at = read_varbind(raw, at, end)
        out.append(found)
    return out


def _opaque(held: bytes) -> Value:
    if len(held) > 3 and held[0] == 0x9F and held[1] in _FLOATS:
        form, size = _FLOATS[held[1]]
        if held[2] == size == len(held) - 3:
            return float(struct.unpack(form, held[3:])[0])
    return held
