"""The exporter's HTTP: one page per listening port, keep-alive, nothing else."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus

MOST_HEAD = 16 * 1024
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class PageProtocol(asyncio.Protocol):
    """Answers `GET /metrics` with `page()`; a page of None is a node that does not answer: the line is cut."""

    def __init__(self, page: Callable[[], bytes | None]) -> None:
        self._page = page
        self._head = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A collector has connected."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Collect a request's head, answer, and go on with what came after it."""
        transport = self._transport
        if transport is None:
            return
        self._head += data
        while b"\r\n\r\n" in self._head:
            head, _, self._head = self._head.partition(b"\r\n\r\n")
            first, *lines = head.split(b"\r\n")
            stays = b"connection: close" not in (line.strip().lower() for line in lines)
            self._answer(transport, first.split(b" "), stays)
        if len(self._head) > MOST_HEAD:
            transport.abort()

    def _answer(self, transport: asyncio.Transport, words: list[bytes], stays: bool) -> None:
        if len(words) != 3 or words[0] not in (b"GET", b"HEAD"):
            transport.write(_reply(HTTPStatus.BAD_REQUEST, b"only GET\n"))
            transport.close()
            return
        if words[1].partition(b"?")[0] not in (b"/metrics", b"/"):
            transport.write(_reply(HTTPStatus.NOT_FOUND, b"the page is /metrics\n"))
        else:
            body = self._page()
            if body is None:
                transport.abort()
                return
            transport.write(_reply(HTTPStatus.OK, body, send=words[0] == b"GET"))
        if not stays:
            transport.close()


def _reply(status: HTTPStatus, body: bytes, send: bool = True) -> bytes:
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {TEXT}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + (body if send else b"")


async def listen(host: str, port: int, page: Callable[[], bytes | None]) -> tuple[asyncio.Server, int]:
    """Serve a page; returns the server and the port that it got. Raises `OSError` when it cannot listen."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: PageProtocol(page), host, port)
    return server, int(server.sockets[0].getsockname()[1])
