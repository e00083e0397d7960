"""BER as SNMP uses it (RFC 3417, section 8): definite lengths, tags of one byte. Nothing is believed of what came."""

INTEGER = 0x02
OCTETS = 0x04
NULL = 0x05
OID = 0x06
SEQUENCE = 0x30
MOST_INTEGER_BYTES = 9
"""A Counter64 above 2^63 needs eight bytes and a zero before them."""


class BerError(ValueError):
    """Bytes that are no BER, or not of the form that was expected."""


def header(raw: bytes, at: int, end: int) -> tuple[int, int, int]:
    """The element at `at`: its tag, and where its content begins and ends. Raises `BerError`."""
    if at + 2 > end:
        raise BerError("cut off in a header")
    tag, first = raw[at], raw[at + 1]
    if tag & 0x1F == 0x1F:
        raise BerError("a tag of many bytes, which SNMP does not have")
    start = at + 2
    if first < 0x80:
        stop = start + first
    elif first == 0x80 or first > 0x84:
        raise BerError("an indefinite length" if first == 0x80 else "a length of more than four bytes")
    else:
        count = first & 0x7F
        stop = start + count + int.from_bytes(raw[start : start + count])
        start += count
    if start > end or stop > end:
        raise BerError(f"a length that goes {stop - end} bytes beyond the end")
    return tag, start, stop


def content(raw: bytes, at: int, end: int, tag: int) -> tuple[int, int]:
    """Where the content of an element of that tag begins and ends. Raises `BerError`."""
    found, start, stop = header(raw, at, end)
    if found != tag:
        raise BerError(f"tag 0x{found:02x} where 0x{tag:02x} belongs")
    return start, stop


def integer(raw: bytes, at: int, end: int) -> tuple[int, int]:
    """A whole number and where it ends. Raises `BerError`."""
    start, stop = content(raw, at, end, INTEGER)
    return signed(raw, start, stop), stop


def octets(raw: bytes, at: int, end: int) -> tuple[bytes, int]:
    """A string of bytes and where it ends. Raises `BerError`."""
    start, stop = content(raw, at, end, OCTETS)
    return raw[start:stop], stop


def signed(raw: bytes, start: int, stop: int) -> int:
    """Two's complement. Raises `BerError` for none and for more than 9 bytes."""
    if not 0 < stop - start <= MOST_INTEGER_BYTES:
        raise BerError(f"a number of {stop - start} bytes")
    return int.from_bytes(raw[start:stop], signed=True)


def unsigned(raw: bytes, start: int, stop: int, bits: int) -> int:
    """A counter. Agents that forget the zero before a high bit are read as they mean it. Raises `BerError`."""
    if not 0 < stop - start <= MOST_INTEGER_BYTES:
        raise BerError(f"a number of {stop - start} bytes")
    value = int.from_bytes(raw[start:stop])
    if value >> bits:
        raise BerError(f"a number beyond {bits} bits")
    return value


def element(tag: int, *parts: bytes) -> bytes:
    """One element of these parts."""
    size = sum(map(len, parts))
    if size < 0x80:
        return b"".join((bytes((tag, size)), *parts))
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return b"".join((bytes((tag, 0x80 | len(length))), length, *parts))


def number(value: int) -> bytes:
    """A whole number as an element, in as few bytes as it takes."""
    return element(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, signed=True))
