"""Small damage to a good input: bits, bytes, cuts, repeats, numbers at their limits, pieces of another input."""

import random
import re

_NUMBER = re.compile(rb"\d+")
_LIMITS = (b"0", b"-1", b"255", b"65535", b"4294967295", b"18446744073709551615", b"9" * 40, b"NaN", b"-inf", b"1e999")


def mutate(seed: bytes, other: bytes, rng: random.Random, most: int = 1 << 16) -> bytes:
    """`seed` with one to four kinds of damage, at most `most` bytes long."""
    data = bytearray(seed)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 4, 16, 64, 256)))
        match rng.randrange(8):
            case 0:
                if at < len(data):
                    data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at:end] = rng.randbytes(end - at)
            case 2:
                del data[at:end]
            case 3:
                del data[at:]
            case 4:
                data[at:at] = data[at:end] * rng.randint(1, 8)
            case 5:
                start = rng.randrange(len(other) + 1)
                data[at:end] = other[start : start + rng.choice((1, 8, 64, 512))]
            case 6:
                found = list(_NUMBER.finditer(bytes(data)))
                if found:
                    one = rng.choice(found)
                    data[one.start() : one.end()] = rng.choice(_LIMITS)
            case _:
                data[at:at] = rng.choice((b"\0", b"\xff\xfe", b"\n", b'"', b"{", b"\x1b[31m", "é∞".encode()))
    return bytes(data[:most])
