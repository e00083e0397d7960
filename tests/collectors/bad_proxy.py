"""A proxy before a good server, which can be told to treat whoever asks badly."""

import asyncio
import contextlib
import random
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PIECE = b"x" * (1 << 18)
_HTTP_LENGTH = re.compile(rb"(?i)(content-length: *)(\d+)")
_REDIS_LENGTH = re.compile(rb"\$(\d+)\r\n")


@dataclass
class Proxy:
    """`abuse` None: everything is passed on."""

    upstream: tuple[str, int] | str
    """Host and port, or the path of a Unix socket."""
    endless_head: bytes = b""
    """What an endless answer of this protocol begins with."""
    port: int = 0
    abuse: "Abuse | None" = None
    passed: int = 0
    """Bytes of answers since the last `forget`."""
    sent: int = 0
    """Bytes that the abuse got rid of on one connection, at most."""
    asked: int = 0
    """Connections since the last `forget`."""
    first_asked: Callable[[], None] = lambda: None
    heard: int = 0
    """Pieces of questions that were not answered."""
    half: int = 0
    """Bytes of half an answer."""
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def forget(self) -> None:
        """Count anew, and end every connection."""
        self.passed = self.sent = self.asked = 0
        for task in self._tasks:
            task.cancel()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.asked += 1
        if self.asked == 1:
            self.first_asked()
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            try:
                await (self.abuse.play if self.abuse is not None else honest)(self, reader, writer)
            finally:
                writer.transport.abort() if self.abuse is not None else writer.close()

    async def relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        change: Callable[[bytes], Awaitable[bytes | None]],
    ) -> None:
        """Both ways until the server ends; `change` sees each piece of the answer, None ends it."""
        if isinstance(self.upstream, str):
            theirs, ours = await asyncio.open_unix_connection(self.upstream)
        else:
            theirs, ours = await asyncio.open_connection(*self.upstream)

        async def questions() -> None:
            with contextlib.suppress(OSError):
                while piece := await reader.read(1 << 16):
                    ours.write(piece)
                    await ours.drain()

        asking = asyncio.ensure_future(questions())
        try:
            while piece := await theirs.read(1 << 16):
                changed = await change(piece)
                if changed is None:
                    return
                writer.write(changed)
                await writer.drain()
                self.passed += len(changed)
        finally:
            asking.cancel()
            ours.transport.abort()

    @asynccontextmanager
    async def listening(self, path: str | None = None, tls: ssl.SSLContext | None = None) -> AsyncIterator["Proxy"]:
        """On a free port of loopback, or on a Unix socket."""

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self.handle(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        if path is not None:
            server = await asyncio.start_unix_server(connected, path)
        else:
            server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
            self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.forget()
            await asyncio.gather(*self._tasks, return_exceptions=True)


Play = Callable[[Proxy, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Abuse:
    """One way to treat a collector badly."""

    name: str
    play: Play
    hangs: bool = False
    """It ends only when the collector gives up."""


async def honest(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Everything as it is."""

    async def same(piece: bytes) -> bytes:
        return piece

    await proxy.relay(reader, writer, same)


async def silent(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accepts and says nothing."""
    while await reader.read(1 << 16):
        proxy.heard += 1


def half(then_hang: bool) -> Play:
    """Half of what an answer was, then nothing, or the end."""

    async def play(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = proxy.half

        async def cut(piece: bytes) -> bytes | None:
            nonlocal left
            if left <= 0:
                if then_hang:
                    await asyncio.Event().wait()
                return None
            piece, left = piece[:left], left - len(piece)
            if left <= 0:
                writer.write(piece)
                await writer.drain()
                return await cut(b"")
            return piece

        await proxy.relay(reader, writer, cut)

    return play


async def trickles(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte now and then: sooner than any wait for the next byte ends."""

    async def slowly(piece: bytes) -> bytes | None:
        for at in range(len(piece)):
            writer.write(piece[at : at + 1])
            await writer.drain()
            await asyncio.sleep(0.05)
        return b""

    await proxy.relay(reader, writer, slowly)


async def garbage(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Bytes of chance in place of an answer, then the end."""
    await reader.read(1 << 16)
    writer.write(random.Random(7).randbytes(20_000))
    await writer.drain()
    writer.close()
    await writer.wait_closed()


async def closes(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """At once."""


async def resets(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """After the question."""
    await reader.read(1 << 16)
    held = writer.get_extra_info("socket")
    held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def endless(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """At full speed for as long as somebody takes it."""
    await reader.read(1 << 16)
    writer.write(proxy.endless_head)
    sent = 0
    # Over TLS a write to a lost connection is only logged, and `drain` neither waits nor raises.
    while not writer.transport.is_closing():
        writer.write(PIECE)
        await writer.drain()
        sent += len(PIECE)
        proxy.sent = max(proxy.sent, sent)
        await asyncio.sleep(0)


def lies(by: int) -> Play:
    """The first length that an answer tells is so many bytes off."""

    async def play(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told = False

        def wrong(found: "re.Match[bytes]") -> bytes:
            length = found.groups()[-1]
            return found[0].replace(length, str(max(0, int(length) + by)).encode())

        async def change(piece: bytes) -> bytes:
            nonlocal told
            for form in (_HTTP_LENGTH, _REDIS_LENGTH):
                if not told and form.search(piece):
                    piece, told = form.sub(wrong, piece, count=1), True
            return piece

        await proxy.relay(reader, writer, change)
        writer.close()
        await writer.wait_closed()

    return play


ABUSES = (
    Abuse("silent", silent, hangs=True),
    Abuse("half-then-hangs", half(True), hangs=True),
    Abuse("half-then-closes", half(False)),
    Abuse("trickles", trickles, hangs=True),
    Abuse("garbage", garbage),
    Abuse("closes", closes),
    Abuse("resets", resets),
    Abuse("endless", endless),
)
LIES = (Abuse("claims-more", lies(1000)), Abuse("claims-less", lies(-7)))
