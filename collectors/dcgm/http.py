"""HTTP/1.1 GET of one page over a connection that is kept: what an exporter needs, and no more."""

import asyncio
import base64
import ssl
import zlib
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Response:
    """An answer as its bytes come in."""

    data: bytearray = field(default_factory=bytearray)
    _head_end: int = -1
    _status: int = 0
    _headers: dict[str, str] = field(default_factory=dict)
    _length: int | None = None

    def feed(self, data: bytes) -> bytes | None:
        """The body once it is whole. Raises `HttpError`."""
        self.data += data
        if len(self.data) > MAX_BYTES:
            raise HttpError(f"more than {MAX_BYTES >> 20} MiB")
        if self._head_end < 0 and not self._read_head():
            return None
        if self._headers.get("transfer-encoding", "").lower() == "chunked":
            body = unchunk(self.data, self._head_end)
        elif self._length is None or len(self.data) - self._head_end < self._length:
            return None
        else:
            body = bytes(memoryview(self.data)[self._head_end : self._head_end + self._length])
        return None if body is None else self._finish(body)

    def end(self) -> bytes | None:
        """The body of an answer without a length, which ends with the connection."""
        if self._head_end < 0 or self._length is not None or "transfer-encoding" in self._headers:
            return None
        return self._finish(bytes(memoryview(self.data)[self._head_end :]))

    @property
    def keeps(self) -> bool:
        """The connection may be used again."""
        return self._headers.get("connection", "").lower() != "close"

    def _read_head(self) -> bool:
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            if not b"HTTP/1.".startswith(self.data[:7]) and not self.data.startswith(b"HTTP/1."):
                raise HttpError("no HTTP")
            return False
        first, *lines = self.data[:end].decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
            raise HttpError("no HTTP")
        self._status = int(rest[:3])
        for line in lines:
            name, _, value = line.partition(":")
            self._headers[name.strip().lower()] = value.strip()
        length = self._headers.get("content-length")
        if length is not None and not length.isdigit():
            raise HttpError(f"Content-Length: {length}")
        if version == "HTTP/1.0":
            self._headers.setdefault("connection", "close")
        self._length = None if length is None else int(length)
        self._head_end = end + 4
        return True

    def _finish(self, body: bytes) -> bytes:
        if self._status != 200:
            where = f" to {self._headers['location']}" if "location" in self._headers else ""
            raise HttpError(f"HTTP status {self._status}{where}")
        if self._headers.get("content-encoding", "").lower() == "gzip":
            try:
                return zlib.decompress(body, wbits=31)
            except zlib.error as why:
                raise HttpError(f"gzip: {why}") from why
        return body


def unchunk(data: bytearray, start: int) -> bytes | None:
    """The body of chunked transfer; None while it is not whole. Raises `HttpError`."""
    parts: list[bytearray] = []
    while True:
        end = data.find(b"\r\n", start)
        if end < 0:
            return None
        try:
            size = int(data[start:end].partition(b";")[0], 16)
        except ValueError:
            raise HttpError("a broken chunk") from None
        if size == 0:
            return b"".join(parts) if data.find(b"\r\n", end + 2) >= 0 else None
        start = end + 2 + size + 2
        if start > len(data):
            return None
        parts.append(data[end + 2 : start - 2])


class _Wire(asyncio.Protocol):
    """One connection: a request out, an answer in."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] | None = None
        self.response = Response()
        self.open = True

    def ask(self) -> "asyncio.Future[bytes]":
        """A new answer is expected."""
        self.response = Response()
        self.answer = asyncio.get_running_loop().create_future()
        return self.answer

    def data_received(self, data: bytes) -> None:
        """As in asyncio."""
        answer = self.answer
        if answer is None or answer.done():
            self.open = False
            return
        try:
            body = self.response.feed(data)
        except HttpError as why:
            self.open = False
            answer.set_exception(why)
            return
        if body is not None:
            self.open = self.open and self.response.keeps
            answer.set_result(body)

    def connection_lost(self, exc: Exception | None) -> None:
        """As in asyncio."""
        self.open = False
        answer = self.answer
        if answer is None or answer.done():
            return
        try:
            body = self.response.end()
        except HttpError as why:
            answer.set_exception(why)
            return
        if body is not None:
            answer.set_result(body)
        else:
            answer.set_exception(exc or ConnectionResetError("the connection was closed before the end of the page"))


class Client:
    """The one connection to one target."""

    def __init__(self, url: Url, tls: ssl.SSLContext | None = None) -> None:
        self._url = url
        self._tls = tls if url.secure else None
        self._wire: _Wire | None = None
        self._transport: asyncio.Transport | None = None
        host = f"[{url.host}]" if ":" in url.host else url.host
        lines = [
            f"GET {url.path} HTTP/1.1",
            f"Host: {host}:{url.port}",
            "Accept: text/plain;version=0.0.4",
            *url.headers,
        ]
        self._request = ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def get(self, within_s: float) -> bytes:
        """The page. Raises `OSError` (`HttpError`, `TimeoutError`). The connection is kept where that is allowed."""
        try:
            async with asyncio.timeout(within_s):
                kept = self._wire is not None and self._wire.open
                try:
                    return await self._ask()
                except ConnectionError:
                    if not kept or (self._wire is not None and self._wire.response.data):
                        raise
                    self.close()
                    return await self._ask()
        except TimeoutError:
            self.close()
            raise TimeoutError(f"no answer within {within_s:g} s") from None
        except OSError:
            self.close()
            raise

    async def _ask(self) -> bytes:
        if self._wire is None or not self._wire.open or self._transport is None:
            self.close()
            self._transport, self._wire = await asyncio.get_running_loop().create_connection(
                _Wire, self._url.host, self._url.port, ssl=self._tls
            )
        answer = self._wire.ask()
        self._transport.write(self._request)
        return await answer

    def close(self) -> None:
        """Drop the connection."""
        if self._transport is not None:
            self._transport.abort()
        self._transport = self._wire = None
