"""HTTP/1.1 as far as an exporter needs it: an answer as its bytes come in. All that a server may send is bounded."""

import zlib

from collectors.dcgm.http import HttpError

MAX_BYTES = 16 << 20
"""A page larger than this, packed or not, is not one of an exporter: 16 GPUs of 7 instances each and 150 fields
print 7 MB."""
MAX_HEAD_BYTES = 64 << 10
MAX_CHUNKS = 64 << 10
SHOWN_BYTES = 120
"""Of the text that comes with a status other than 200."""


class Buffers:
    """Buffers that answers come into, shared by all targets: of a thousand, few answer at the same moment."""

    FIRST_BYTES = 32 << 10
    KEEP_BYTES = 1 << 20
    KEEP = 32

    def __init__(self) -> None:
        self._free: list[bytearray] = []

    def take(self) -> bytearray:
        """One that nobody uses."""
        return self._free.pop() if self._free else bytearray(self.FIRST_BYTES)

    def give(self, buffer: bytearray) -> None:
        """Done with it."""
        if len(buffer) <= self.KEEP_BYTES and len(self._free) < self.KEEP:
            self._free.append(buffer)


class Response:
    """An answer as its bytes come in: `restart`, then `room` and `came` until the body is whole, then `drop`."""

    def __init__(self, buffers: Buffers | None = None) -> None:
        self._buffers = buffers or Buffers()
        self._buffer = bytearray()
        self._filled = 0
        self._head_end = -1
        self._head = b""
        self._length: int | None = None
        self._chunks: Chunks | None = None
        self.keeps = False
        """The connection may be used again."""

    def restart(self) -> None:
        """Another answer comes."""
        self.drop()
        self._buffer = self._buffers.take()

    def drop(self) -> None:
        """Nothing more is wanted of this answer."""
        if self._buffer:
            self._buffers.give(self._buffer)
        self._buffer, self._filled, self._head_end, self._chunks = bytearray(), 0, -1, None

    @property
    def begun(self) -> bool:
        """Bytes have come."""
        return self._filled > 0

    def room(self) -> memoryview:
        """Where the next bytes go. Raises `HttpError` where there are too many."""
        if self._filled == len(self._buffer):
            if self._filled >= MAX_BYTES + MAX_HEAD_BYTES:
                raise _too_much()
            # Not `extend`: a view of the old buffer may be alive.
            self._buffer = self._buffer + bytearray(max(len(self._buffer), Buffers.FIRST_BYTES))
        return memoryview(self._buffer)[self._filled :]

    def came(self, count: int) -> bytes | None:
        """So many bytes were put there; the body once it is whole. Raises `HttpError`."""
        self._filled += count
        if self._head_end < 0 and not self._read_head():
            return None
        if self._chunks is not None:
            body = self._chunks.read(self._buffer, self._filled)
            return None if body is None else self._finish(body)
        if self._length is None or self._filled - self._head_end < self._length:
            return None
        return self._finish(bytes(memoryview(self._buffer)[self._head_end : self._head_end + self._length]))

    def ended(self) -> bytes | None:
        """The body of an answer without a length, which ends with the connection. Raises `HttpError`."""
        if self._head_end < 0 or self._length is not None or self._chunks is not None:
            return None
        return self._finish(bytes(memoryview(self._buffer)[self._head_end : self._filled]))

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n", 0, min(self._filled, MAX_HEAD_BYTES))
        if end < 0:
            begun = bytes(self._buffer[: min(self._filled, 7)])
            if not b"HTTP/1."[: len(begun)] == begun:
                raise HttpError("no HTTP")
            if self._filled >= MAX_HEAD_BYTES:
                raise HttpError(f"more than {MAX_HEAD_BYTES >> 10} KiB of headers")
            return False
        head = self._head = bytes(memoryview(self._buffer)[:end]).lower()
        if not head.startswith(b"http/1.") or not head[9:12].isdigit():
            raise HttpError("no HTTP")
        length = header(head, b"content-length")
        if length and not length.isdigit():
            raise HttpError(f"Content-Length: {length.decode('latin-1')[:SHOWN_BYTES]}")
        self._length = int(length[:20]) if length else None
        if self._length is not None and self._length > MAX_BYTES:
            raise _too_much()
        self._head_end = end + 4
        chunked = header(head, b"transfer-encoding") == b"chunked"
        self._chunks = Chunks(self._head_end) if chunked else None
        connection = header(head, b"connection")
        self.keeps = connection != b"close" if head[7:8] == b"1" else connection == b"keep-alive"
        return True

    def _finish(self, body: bytes) -> bytes:
        coding = header(self._head, b"content-encoding")
        if coding in (b"gzip", b"x-gzip"):
            body = unpack(body)
        elif coding not in (b"", b"identity"):
            raise HttpError(f"Content-Encoding {coding.decode('latin-1')[:SHOWN_BYTES]} is not read here; gzip is")
        if self._head[9:12] != b"200":
            raise HttpError(f"HTTP status {self._head[9:12].decode()}{_where(self._head)}{_shown(body)}")
        return body


def unpack(body: bytes) -> bytes:
    """What was packed by gzip, in one part or several. Raises `HttpError`, also for a bomb."""
    out: list[bytes] = []
    room = MAX_BYTES
    while body:
        part = zlib.decompressobj(wbits=31)
        try:
            out.append(part.decompress(body, room + 1))
        except zlib.error as why:
            raise HttpError(f"gzip: {why}") from why
        room -= len(out[-1])
        if room < 0:
            raise _too_much()
        if not part.eof:
            raise HttpError("gzip: cut off")
        body = part.unused_data
    return b"".join(out)


class Chunks:
    """Chunked transfer: where the next chunk begins, and which bytes belong to the body so far."""

    def __init__(self, start: int) -> None:
        self._next = start
        self._parts: list[bytes] = []

    def read(self, data: bytearray, filled: int) -> bytes | None:
        """The body in `data[:filled]`; None while it is not whole. Raises `HttpError`."""
        while True:
            end = data.find(b"\r\n", self._next, filled)
            if end < 0:
                return None
            digits = bytes(data[self._next : end]).partition(b";")[0].strip()
            if not 0 < len(digits) <= 16 or not all(digit in b"0123456789abcdefABCDEF" for digit in digits):
                raise HttpError("a broken chunk")
            size = int(digits, 16)
            if size == 0:
                return b"".join(self._parts) if data.find(b"\r\n", end + 2, filled) >= 0 else None
            if size > MAX_BYTES or len(self._parts) >= MAX_CHUNKS:
                raise _too_much()
            following = end + 2 + size + 2
            if following > filled:
                return None
            self._parts.append(bytes(memoryview(data)[end + 2 : following - 2]))
            self._next = following


def header(head: bytes, name: bytes) -> bytes:
    """The value of one header of a head in lower case; empty where it is not there."""
    start = head.find(b"\r\n" + name + b":")
    if start < 0:
        return b""
    start += len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else None].strip()


def _where(head: bytes) -> str:
    location = header(head, b"location").decode("latin-1")[:SHOWN_BYTES]
    return f" to {location}" if location else ""


def _shown(body: bytes) -> str:
    """The first line of what the server says besides its status, where that is plain text."""
    text = body[:SHOWN_BYTES].decode("utf-8", "replace").strip().partition("\n")[0]
    return f": {text}" if text and text.isprintable() and not text.startswith("<") else ""


def _too_much() -> HttpError:
    return HttpError(f"more than {MAX_BYTES >> 20} MiB")
