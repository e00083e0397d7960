"""One connection to a redis: many commands out at once, their replies back. Bounded in time and bytes."""

import asyncio
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of one `ask`. All counters of 512 ports with their queues are some 20 MB."""
CHUNK = 256 * 1024
_MONSTER = re.compile(rb"\*\d{7}")
"""The head of an array of a million entries or more: nothing that is asked here has so many, and the parser would
make room for all of them at once."""
_NOT_YET = object()


class DatabaseError(Exception):
    """What went wrong, in words for a beat."""


@dataclass(frozen=True, slots=True)
class Address:
    """`HOST:PORT`, or the path of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        return f"unix:{self.path}" if self.path else f"{self.host}:{self.port}"


def pack(commands: Iterable[tuple[str | bytes | int, ...]]) -> bytes:
    """Commands as they go over the wire."""
    from hiredis import pack_command

    # hiredis declares a tuple of one; any length is meant.
    return b"".join(pack_command(command) for command in commands)  # type: ignore[arg-type]


class Replies:
    """Bytes -> replies. Raises `DatabaseError` for what no redis says, and for an answer without end."""

    def __init__(self, limit: int = LARGEST_ANSWER) -> None:
        from hiredis import Reader

        self._reader = Reader(notEnoughData=_NOT_YET)
        self._limit = limit
        self._left = limit
        self._tail = b""

    def expect(self) -> None:
        """A new answer begins: all of the limit is free again."""
        self._left = self._limit

    def feed(self, chunk: bytes) -> list[Any]:
        """The replies that are whole now; bytes, integers, lists, None, or an exception that redis told."""
        from hiredis import HiredisError

        self._left -= len(chunk)
        if self._left < 0:
            raise DatabaseError(f"answered more than {self._limit} bytes")
        if _MONSTER.search(self._tail + chunk):
            raise DatabaseError("answered with an array of millions")
        self._tail = chunk[-7:]
        out = []
        try:
            self._reader.feed(chunk)
            while (reply := self._reader.gets()) is not _NOT_YET:
                out.append(reply)
        except (HiredisError, TypeError, ValueError) as why:
            raise DatabaseError(f"no redis speaks there: {why}") from why
        return out


class Database:
    """Connect, ask, close. Every failure is a `DatabaseError`; after one the connection is closed."""

    def __init__(self, address: Address, *, timeout_s: float = 10.0, limit: int = LARGEST_ANSWER) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._limit = limit
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._replies = Replies(limit)
        self.bytes = 0
        """Of answers so far."""

    async def connect(self, login: tuple[str, ...] = ()) -> None:
        """`login` is what follows AUTH: a password, or a user and a password."""
        self._replies = Replies(self._limit)
        address = self.address
        try:
            async with asyncio.timeout(self._timeout_s):
                if address.path:
                    self._streams = await asyncio.open_unix_connection(address.path)
                else:
                    self._streams = await asyncio.open_connection(address.host, address.port)
        except TimeoutError:
            raise DatabaseError(f"no connection within {self._timeout_s:g} s") from None
        except OSError as why:
            raise DatabaseError(f"no connection: {_said(why)}") from why
        if login:
            (answer,) = await self.ask(pack([("AUTH", *login)]), 1)
            if isinstance(answer, Exception):
                await self.close()
                raise DatabaseError(f"login refused: {answer}")

    async def ask(self, packed: bytes, count: int) -> list[Any]:
        """Send `packed` and wait for `count` replies. Errors that redis told stand among them."""
        if self._streams is None:
            raise DatabaseError("not connected")
        reader, writer = self._streams
        self._replies.expect()
        out: list[Any] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                sending = asyncio.ensure_future(_send(writer, packed))
                try:
                    while len(out) < count:
                        chunk = await reader.read(CHUNK)
                        if not chunk:
                            raise DatabaseError("the other side closed the connection")
                        self.bytes += len(chunk)
                        out += self._replies.feed(chunk)
                    await sending
                finally:
                    sending.cancel()
                    with suppress(asyncio.CancelledError, OSError):
                        await sending
        except TimeoutError:
            await self.close()
            raise DatabaseError(f"no answer within {self._timeout_s:g} s") from None
        except OSError as why:
            await self.close()
            raise DatabaseError(f"connection lost: {_said(why)}") from why
        except DatabaseError:
            await self.close()
            raise
        if len(out) > count:
            await self.close()
            raise DatabaseError("answered more than was asked")
        return out

    async def close(self) -> None:
        """Drop the connection, if there is one."""
        if self._streams is not None:
            _, writer = self._streams
            self._streams = None
            writer.transport.abort()


def _said(why: OSError) -> str:
    """The system's words where it has some; asyncio hides them behind its own."""
    return os.strerror(why.errno) if why.errno is not None and why.errno > 0 else str(why)


async def _send(writer: asyncio.StreamWriter, packed: bytes) -> None:
    """Beside reading: a redis whose own buffer is full reads no further until its answers are taken."""
    writer.write(packed)
    await writer.drain()
