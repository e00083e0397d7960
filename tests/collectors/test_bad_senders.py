"""Senders that push badly: a beat with the reason, bounded memory, and the others are taken meanwhile."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from collectors.remote_write import listener
from collectors.remote_write.server import Server
from tests.collectors.remote_write_bodies import T_MS, scrape, snappy, v1
from tests.collectors.test_bad_targets import resident, until
from tests.collectors.test_remote_write_server import V1_TYPE, Site, serving

MIB = 1 << 20
HEAD = b"POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Encoding: snappy\r\n"
BODY = snappy(v1(scrape(T_MS)))
Send = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[int]]


async def a_gigabyte_by_its_length(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    writer.write(HEAD + b"Content-Length: 1073741824\r\n\r\n")
    return await flood(writer, b"x" * MIB)


async def a_gigabyte_in_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    return await flood(writer, b"100000\r\n" + b"x" * MIB + b"\r\n")


async def half_then_hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY[: len(BODY) // 2])
    await reader.read()
    return len(BODY) // 2


async def half_then_closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY[: len(BODY) // 2])
    await writer.drain()
    return len(BODY) // 2


async def trickles(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY))
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < len(BODY):
            writer.write(BODY[sent : sent + 1])
            await writer.drain()
            sent += 1
            await asyncio.sleep(0.05)
    return sent


async def garbage_in_the_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    writer.write(HEAD + b"Content-Length: 1000\r\n\r\n" + bytes(range(250)) * 4)
    await reader.read(1000)
    return 1000


async def flood(writer: asyncio.StreamWriter, piece: bytes) -> int:
    """A gigabyte, or as much as is taken; how much that was."""
    sent = 0
    with contextlib.suppress(OSError):
        while sent < 1 << 30:
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
    return sent


@pytest.mark.parametrize(
    ("send", "why"),
    [
        (a_gigabyte_by_its_length, "1073741824 bytes; at most 16777216"),
        (a_gigabyte_in_chunks, "more than 16777216 bytes"),
        (half_then_hangs, "the body did not come within 0.3 s"),
        (half_then_closes, "the body was cut"),
        (trickles, "the body did not come within 0.3 s"),
        (garbage_in_the_body, "not snappy"),
    ],
)
def test_a_sender_that_is_bad_is_told_by_a_beat_and_the_next_one_is_taken(
    send: Send, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "Server", partial(Server, body_s=0.3))
    monkeypatch.setattr(listener, "LINGER_S", 0.1)

    async def use(site: Site) -> None:
        before = resident()
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        sending = asyncio.ensure_future(send(reader, writer))
        status, _, _ = await site.post(BODY, V1_TYPE)
        assert status == 204
        sent = await sending
        writer.transport.abort()
        await until(lambda: any(not beat.ok for beat in site.outlet.beats), "a failed beat")
        failed = [beat for beat in site.outlet.beats if not beat.ok]
        assert len(failed) == 1
        assert why in str(failed[0].error)
        assert sent < 1 << 30
        assert resident() - before < 100 * MIB
        status, _, _ = await site.post(BODY, V1_TYPE)
        assert status == 204
        good = len(site.outlet.beats)
        await until(lambda: any(beat.ok for beat in site.outlet.beats[good:] if not beat.subject), "a good beat")

    serving(use, "--interval=0.1")


def test_a_connection_that_says_nothing_keeps_no_other_waiting_and_no_process_alive() -> None:
    async def use(site: Site) -> None:
        idle = [await asyncio.open_connection("127.0.0.1", site.port) for _ in range(20)]
        for _, writer in idle[10:]:
            writer.write(HEAD)
        assert (await site.post(BODY, V1_TYPE))[0] == 204

    serving(use)


def test_garbage_in_place_of_http_costs_its_own_connection(capfd: pytest.CaptureFixture[str]) -> None:
    async def use(site: Site) -> None:
        less = HEAD + b"Content-Length: %d\r\n\r\n" % (len(BODY) - 5) + BODY
        for raw in (less, b"\0\1\2\3" * 1000, b"\x16\x03\x01\x02\0\1", b"POST " + b"x" * 100_000 + b"\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
            writer.write(raw)
            writer.write_eof()
            assert b"400" in (await reader.read(4096))[:20] or reader.at_eof()
            writer.close()
        assert (await site.post(BODY, V1_TYPE))[0] == 204

    serving(use)
    assert "Traceback" not in capfd.readouterr().err
