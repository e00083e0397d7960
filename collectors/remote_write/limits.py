"""How much a sender may ask for at once, and how its bytes are unpacked within that."""

import zlib

import cramjam

from collectors.remote_write.pushed import BadBody, Pushed

MOST_BODY = 16 << 20
"""Bytes of a body as it is sent: some 400,000 samples of a GPU page."""
MOST_UNPACKED = 64 << 20
MOST_SCRAPES = 50_000
"""In one body: what is sent later than usual comes a few scrapes of a target at a time."""
MOST_HELD = 128 << 20
"""Bytes of all bodies that are being received; more are asked to come again."""
BODY_S = 30.0
"""A body that takes longer has been given up by its sender (Prometheus, `remote_timeout` 30 s)."""


class TooLarge(ValueError):
    """The body is larger than may be; the text says how large."""


def unsnappy(body: bytes) -> bytes:
    """Snappy's block form, whose first bytes say how long it is unpacked. Raises `BadBody` and `TooLarge`."""
    try:
        length = cramjam.snappy.decompress_raw_len(body)
    except cramjam.DecompressionError as why:
        raise BadBody(f"not snappy: {why}") from why
    if length > MOST_UNPACKED:
        raise TooLarge(f"{length} bytes unpacked; at most {MOST_UNPACKED}")
    try:
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as why:
        raise BadBody(f"not snappy: {why}") from why


def gunzip(body: bytes) -> bytes:
    """Raises `BadBody` and `TooLarge`."""
    unpacker = zlib.decompressobj(31)
    try:
        out = unpacker.decompress(body, MOST_UNPACKED + 1)
    except zlib.error as why:
        raise BadBody(f"not gzip: {why}") from why
    if len(out) > MOST_UNPACKED:
        raise TooLarge(f"more than {MOST_UNPACKED} bytes unpacked")
    if not unpacker.eof:
        raise BadBody("not gzip: it ends too early")
    return out


def within(pushed: Pushed) -> Pushed:
    """Raises `TooLarge`."""
    count = len(pushed.scrapes) + len(pushed.ended)
    if count > MOST_SCRAPES:
        raise TooLarge(f"samples of {count} scrapes; at most {MOST_SCRAPES}")
    return pushed
