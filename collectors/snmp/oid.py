"""Object identifiers: dotted text, numbers, and the bytes that stand on the wire."""

from functools import lru_cache

from collectors.snmp.ber import BerError

MOST = 128
"""Sub-identifiers of one (RFC 3416, section 4.1)."""
Numbers = tuple[int, ...]


@lru_cache(maxsize=4096)
def encode(text: str) -> bytes:
    """`1.3.6.1.2.1` or `.1.3.6.1.2.1` -> content bytes. Raises ValueError."""
    numbers = tuple(int(part) for part in text.strip().lstrip(".").split("."))
    return pack(numbers)


def pack(numbers: Numbers) -> bytes:
    """Numbers -> content bytes. Raises ValueError for what is no object identifier."""
    if not 2 <= len(numbers) <= MOST or numbers[0] > 2 or (numbers[0] < 2 and numbers[1] > 39):
        raise ValueError(f"{'.'.join(map(str, numbers))}: no object identifier")
    return tail((numbers[0] * 40 + numbers[1], *numbers[2:]))


def tail(numbers: Numbers) -> bytes:
    """Numbers of an index as they follow the bytes of a column. Raises ValueError."""
    out = bytearray()
    for number in numbers:
        if not 0 <= number < 1 << 32:
            raise ValueError(f"{number} is no sub-identifier")
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.append(0x80 | number & 0x7F)
        out += bytes(reversed(groups))
    return bytes(out)


def unpack_tail(raw: bytes) -> Numbers:
    """Bytes of an index -> numbers. Raises `BerError`."""
    if len(raw) <= MOST and raw.isascii():
        return tuple(raw)  # every number fits seven bits
    out: list[int] = []
    number, begun = 0, False
    for byte in raw:
        number = number << 7 | byte & 0x7F
        begun = byte >= 0x80
        if number >= 1 << 32:
            raise BerError("a sub-identifier beyond 32 bits")
        if not begun:
            out.append(number)
            number = 0
            if len(out) > MOST:
                raise BerError(f"an object identifier of more than {MOST} parts")
    if begun:
        raise BerError("an object identifier that is cut off")
    return tuple(out)


def unpack(raw: bytes) -> Numbers:
    """Content bytes -> numbers. Raises `BerError`."""
    numbers = unpack_tail(raw)
    if not numbers:
        raise BerError("an object identifier of no parts")
    first = min(numbers[0] // 40, 2)
    return (first, numbers[0] - 40 * first, *numbers[1:])


def text(raw: bytes) -> str:
    """Content bytes -> dotted text. Raises `BerError`."""
    return ".".join(map(str, unpack(raw)))
