"""HTTP/1.1 as far as an exporter needs it: an address, and an answer as its bytes come in."""

import base64
import zlib
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

MAX_BYTES = 64 << 20
"""A page larger than this is not one of an exporter."""


class HttpError(OSError):
    """The server answered, but not with a page."""


@dataclass(frozen=True, slots=True)
class Url:
    """Where a page is."""

    host: str
    port: int
    path: str
    secure: bool
    headers: tuple[str, ...] = ()


def read_url(text: str, default_port: int, headers: tuple[str, ...] = ()) -> Url:
    """`http[s]://[user:password@]host[:port][/path]`. Raises `ValueError` that says what is wrong."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https"):
        raise ValueError("write http:// or https://")
    if not parts.hostname:
        raise ValueError("no host in it")
    user = parts.username
    if user is not None:
        secret = f"{unquote(user)}:{unquote(parts.password or '')}".encode()
        headers = (*headers, f"Authorization: Basic {base64.b64encode(secret).decode()}")
    path = (parts.path or "/metrics") + (f"?{parts.query}" if parts.query else "")
    port = parts.port or (443 if parts.scheme == "https" else default_port)
    return Url(parts.hostname, port, path, parts.scheme == "https", headers)


class Response:
    """An answer as its bytes come into one buffer, which serves the next answer too."""

    def __init__(self) -> None:
        self._buffer = bytearray(8 << 10)
        self._filled = 0
        self._head_end = -1
        self._head = b""
        self._length: int | None = None
        self._chunked = False
        self.keeps = False
        """The connection may be used again."""

    def restart(self) -> None:
        """Another answer comes."""
        self._filled, self._head_end = 0, -1

    @property
    def begun(self) -> bool:
        """Bytes have come."""
        return self._filled > 0

    def room(self) -> memoryview:
        """Where the next bytes go. Raises `HttpError` where there are too many."""
        if self._filled == len(self._buffer):
            if self._filled >= MAX_BYTES:
                raise HttpError(f"more than {MAX_BYTES >> 20} MiB")
            # Not `extend`: a view of the old buffer may be alive.
            self._buffer = self._buffer + bytearray(len(self._buffer))
        return memoryview(self._buffer)[self._filled :]

    def came(self, count: int) -> bytes | None:
        """So many bytes were put there; the body once it is whole. Raises `HttpError`."""
        self._filled += count
        if self._head_end < 0 and not self._read_head():
            return None
        if self._chunked:
            body = unchunk(self._buffer, self._head_end, self._filled)
            return None if body is None else self._finish(body)
        if self._length is None or self._filled - self._head_end < self._length:
            return None
        return self._finish(memoryview(self._buffer)[self._head_end : self._head_end + self._length])

    def ended(self) -> bytes | None:
        """The body of an answer without a length, which ends with the connection. Raises `HttpError`."""
        if self._head_end < 0 or self._length is not None or self._chunked:
            return None
        return self._finish(memoryview(self._buffer)[self._head_end : self._filled])

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n", 0, self._filled)
        if end < 0:
            if not (b"HTTP/1." + self._buffer[7 : self._filled]).startswith(self._buffer[: self._filled]):
                raise HttpError("no HTTP")
            return False
        head = self._head = bytes(memoryview(self._buffer)[:end]).lower()
        if not head.startswith(b"http/1.") or not head[9:12].isdigit():
            raise HttpError("no HTTP")
        length = _header(head, b"content-length")
        if length and not length.isdigit():
            raise HttpError(f"Content-Length: {length.decode('latin-1')}")
        self._length = int(length) if length else None
        self._chunked = _header(head, b"transfer-encoding") == b"chunked"
        connection = _header(head, b"connection")
        self.keeps = connection != b"close" if head[7:8] == b"1" else connection == b"keep-alive"
        self._head_end = end + 4
        return True

    def _finish(self, body: memoryview | bytes) -> bytes:
        if self._head[9:12] != b"200":
            location = _header(self._head, b"location").decode("latin-1")
            where = f" to {location}" if location else ""
            raise HttpError(f"HTTP status {self._head[9:12].decode()}{where}")
        if _header(self._head, b"content-encoding") == b"gzip":
            try:
                return zlib.decompress(body, wbits=31)
            except zlib.error as why:
                raise HttpError(f"gzip: {why}") from why
        return bytes(body)


def _header(head: bytes, name: bytes) -> bytes:
    """The value of one header of a head in lower case; empty where it is not there."""
    start = head.find(b"\r\n" + name + b":")
    if start < 0:
        return b""
    start += len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else None].strip()


def unchunk(data: bytearray, start: int, filled: int) -> bytes | None:
    """The body of chunked transfer in `data[start:filled]`; None while it is not whole. Raises `HttpError`."""
    parts: list[bytearray] = []
    while True:
        end = data.find(b"\r\n", start, filled)
        if end < 0:
            return None
        try:
            size = int(data[start:end].partition(b";")[0], 16)
        except ValueError:
            raise HttpError("a broken chunk") from None
        if size == 0:
            return b"".join(parts) if data.find(b"\r\n", end + 2, filled) >= 0 else None
        start = end + 2 + size + 2
        if start > filled:
            return None
        parts.append(data[end + 2 : start - 2])
