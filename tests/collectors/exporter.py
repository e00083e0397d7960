"""A server on loopback that answers like an exporter, or badly."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

PAGE = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-0",Hostname="node-a"} 50\n'


def plain(body: str, more: str = "") -> bytes:
    """With a length."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{more}\r\n{body}".encode()


def chunked(body: str, size: int) -> bytes:
    """In pieces of that size."""
    pieces = [body[n : n + size] for n in range(0, len(body), size)]
    text = "".join(f"{len(piece):x}\r\n{piece}\r\n" for piece in pieces)
    return f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{text}0\r\n\r\n".encode()


class Exporter:
    """Counts its connections and requests; `answer` makes the bytes of an answer, None hangs."""

    def __init__(self, answer: Callable[[int], bytes | None]) -> None:
        self._answer = answer
        self.connections = 0
        self.requests: list[bytes] = []
        self.close_after_each = False
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                data = self._answer(len(self.requests))
                if data is None:
                    await asyncio.Event().wait()
                    return
                for at in range(0, len(data), 50):
                    writer.write(data[at : at + 50])
                    await writer.drain()
                if self.close_after_each:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def serving(answer: Callable[[int], bytes | None], tls: ssl.SSLContext | None = None) -> AsyncIterator[Exporter]:
    """An exporter for the length of the block."""
    exporter = Exporter(answer)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.get_running_loop().create_task(exporter.handle(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    exporter.port = server.sockets[0].getsockname()[1]
    try:
        yield exporter
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
