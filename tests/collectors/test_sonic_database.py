"""What stands at the other end of `--redis` and is no redis, or a sick one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from collectors.fabric.series import Site
from collectors.sonic.box import Box, Reporting
from collectors.sonic.database import Address, Database, DatabaseError, Replies, pack
from collectors.sonic.learn import COMMANDS
from collectors.sonic.target import RedisTarget, read_redis
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[Address]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (OSError, asyncio.CancelledError):
            return
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield Address("127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        server.close()


def answering(raw: bytes, *, stay: bool = False) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(raw)
        await writer.drain()
        if stay:
            await asyncio.Event().wait()

    return handle


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"$1000000000\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (answering(b""), "closed the connection"),
        (answering(b"*2\r\n$3\r\nhal"), "closed the connection"),
        (answering(b"*2\r\n$3\r\nhal", stay=True), "no answer within 0.2 s"),
        (answering(b"", stay=True), "no answer within 0.2 s"),
        (answering(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "no redis speaks there"),
        (answering(b"*1000000000\r\n$1\r\n1\r\n", stay=True), "array of millions"),
        (answering(b"+OK\r\n+OK\r\n"), "more than was asked"),
        (endless, "more than 1000000 bytes"),
    ],
)
def test_an_answer_that_is_none_is_told_and_ends_the_connection(handler: Handler, said: str) -> None:
    async def test() -> None:
        async with listening(handler) as address:
            database = Database(address, timeout_s=0.2 if "within" in said else 10.0, limit=1_000_000)
            await database.connect()
            with pytest.raises(DatabaseError, match=said):
                await database.ask(pack([("TIME",)]), 1)
            with pytest.raises(DatabaseError, match="not connected"):
                await database.ask(pack([("TIME",)]), 1)

    asyncio.run(test())


def test_the_head_of_a_monster_is_seen_over_two_chunks() -> None:
    replies = Replies()
    assert replies.feed(b"*10000") == []
    with pytest.raises(DatabaseError, match="array of millions"):
        replies.feed(b"00\r\n")


def test_nobody_listens_is_one_beat_with_the_reason() -> None:
    async def test() -> None:
        async with listening(answering(b"")) as address:
            pass
        outlet = ListOutlet()
        box = Box(RedisTarget(address, "leaf1"), shared(outlet))
        assert await box.sweep() == 0
        assert [(b.ok, b.target, b.subject, b.error) for b in outlet.beats] == [
            (False, str(address), "leaf1", "no connection: Connection refused")
        ]

    asyncio.run(test())


def test_a_refused_login_is_told() -> None:
    async def test() -> None:
        async with listening(answering(b"-WRONGPASS invalid username-password pair\r\n", stay=True)) as address:
            with pytest.raises(DatabaseError, match="login refused: WRONGPASS"):
                await Database(address).connect(("reader", "wrong"))

    asyncio.run(test())


def test_a_redis_that_asks_for_a_password_says_so_in_the_beat() -> None:
    async def test() -> None:
        async with listening(answering(b"-NOAUTH Authentication required.\r\n" * len(COMMANDS), stay=True)) as address:
            outlet = ListOutlet()
            await Box(RedisTarget(address), shared(outlet)).sweep()
            assert outlet.beats[0].error == "redis refuses: NOAUTH Authentication required."
            assert outlet.beats[0].bytes == len(b"-NOAUTH Authentication required.\r\n") * len(COMMANDS)

    asyncio.run(test())


@pytest.mark.parametrize(
    ("text", "shown", "name"),
    [
        ("127.0.0.1:6379", "127.0.0.1:6379", None),
        ("leaf1=10.0.0.1:6379", "10.0.0.1:6379", "leaf1"),
        ("unix:/run/redis.sock", "unix:/run/redis.sock", None),
        ("leaf1=unix:/run/a=b.sock", "unix:/run/a=b.sock", "leaf1"),
    ],
)
def test_a_redis_is_named_by_its_address(text: str, shown: str, name: str | None) -> None:
    target = read_redis(text)
    assert (str(target.address), target.name) == (shown, name)


@pytest.mark.parametrize("text", ["", "host", "host:", "host:0", "host:x", "=host:1", "unix:", ":6379", "a=unix:"])
def test_an_address_that_is_none_is_named(text: str) -> None:
    with pytest.raises(SourceError, match=r"write \[NAME=\]HOST:PORT"):
        read_redis(text)


def shared(outlet: ListOutlet) -> Reporting:
    return Reporting(outlet=outlet, collector="sonic@here", cluster="c", interval_s=1.0, site=Site(lossless=(3,)))
