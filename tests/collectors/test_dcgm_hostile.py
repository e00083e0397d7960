"""A server that sends too much, too little, too slowly or lies costs one sweep, one beat and little memory."""

import asyncio
import gzip
import time
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest

from collectors.contract.topics import GPU_SCRAPES
from collectors.dcgm.access import Access
from collectors.dcgm.response import MAX_BYTES, Buffers, Response
from collectors.dcgm.round import read_round
from collectors.dcgm.shared import Shared
from collectors.dcgm.sweep import sweep_of
from collectors.dcgm.targets import read_target
from tests.collectors.dcgm_options import options
from tests.collectors.exporter import PAGE
from tests.collectors.list_outlet import ListOutlet

OK = b"HTTP/1.1 200 OK\r\n"
MIB = b"x" * (1 << 20)


def endless(head: bytes, piece: bytes) -> Iterator[bytes]:
    """For as long as somebody reads."""
    yield head
    while True:
        yield piece


def zeros() -> bytes:
    """A gibibyte of nothing, packed into a mebibyte."""
    packer = zlib.compressobj(level=1, wbits=31)
    piece = bytes(16 << 20)
    return b"".join(packer.compress(piece) for _ in range(64)) + packer.flush()


def swept(pieces: Iterator[bytes], then_close: bool = False, timeout: str = "0.5") -> tuple[ListOutlet, int]:
    """One sweep of a server that sends these pieces, and how many bytes it got rid of."""
    outlet, sent = ListOutlet(), 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        try:
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
            if not then_close:
                await reader.read()
        except ConnectionError:
            sent += 0
        finally:
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        args = options("--timeout", timeout)
        target = read_target(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        shared = Shared(Access(args))
        async with server:
            await read_round([target], lambda one: sweep_of(args, one, outlet, shared))

    asyncio.run(run())
    return outlet, sent


def beaten(outlet: ListOutlet) -> list[str | None]:
    return [beat.error for beat in outlet.beats]


def test_a_page_of_a_gigabyte_is_refused_by_its_length() -> None:
    outlet, sent = swept(endless(OK + b"Content-Length: 1073741824\r\n\r\n", MIB), timeout="30")
    assert beaten(outlet) == ["more than 16 MiB"]
    assert sent < 64 << 20


@pytest.mark.parametrize(
    "head",
    [b"\r\n", b"Transfer-Encoding: chunked\r\n\r\n40000000\r\n", b"Transfer-Encoding: chunked\r\n\r\nffffff\r\n"],
)
def test_a_page_of_a_gigabyte_without_a_length_is_given_up_at_the_limit(head: bytes) -> None:
    outlet, sent = swept(endless(OK + head, MIB), timeout="30")
    assert beaten(outlet) == ["more than 16 MiB"]
    assert sent < 64 << 20


def test_a_gigabyte_that_was_packed_costs_no_gigabyte() -> None:
    bomb = zeros()
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    tracemalloc.start()
    outlet, _ = swept(iter([head, bomb]), timeout="30")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert beaten(outlet) == ["more than 16 MiB"]
    assert peak < 6 * MAX_BYTES


@pytest.mark.parametrize(
    ("body", "why"),
    [(gzip.compress(PAGE.encode(), mtime=0)[:-9], "gzip: cut off"), (b"not packed", "gzip: Error -3")],
    ids=["cut", "plain"],
)
def test_a_packed_page_that_is_broken_is_said(body: bytes, why: str) -> None:
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    outlet, _ = swept(iter([head + body]))
    assert str(beaten(outlet)[0]).startswith(why)


def test_a_coding_that_is_not_known_is_said() -> None:
    outlet, _ = swept(iter([OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\nxx"]))
    assert beaten(outlet) == ["Content-Encoding br is not read here; gzip is"]


def test_several_packed_parts_are_one_page() -> None:
    body = gzip.compress(PAGE.encode()) + gzip.compress(PAGE.replace("node-a", "node-b").encode())
    outlet, _ = swept(iter([OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body]))
    assert [scrape.node for scrape in outlet.of(GPU_SCRAPES)] == ["node-a", "node-b"]


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"HTTP/1.1 200",
        OK + b"Content-Length: 1000\r\n\r\nDCGM_FI_DEV_GPU_TEMP{",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nDCGM",
    ],
)
def test_a_server_that_hangs_half_way_costs_one_time_out(begun: bytes) -> None:
    outlet, _ = swept(iter([begun]))
    assert beaten(outlet) == ["no answer within 0.5 s"]
    assert outlet.published == []


def test_a_length_that_promises_more_than_comes_gives_no_half_page() -> None:
    outlet, _ = swept(iter([OK + b"Content-Length: 1000\r\n\r\n" + PAGE.encode()]), then_close=True)
    assert beaten(outlet) == ["closed before the end of the page"]
    assert outlet.published == []


def test_a_length_that_promises_less_than_comes_cuts_the_page_and_the_cut_line_is_told() -> None:
    page = PAGE.encode() * 2
    outlet, _ = swept(iter([OK + b"Content-Length: %d\r\n\r\n" % (len(page) - 2) + page]))
    assert [scrape.columns for scrape in outlet.of(GPU_SCRAPES)] == [{"150": [50]}]
    assert [why for _, _, why in outlet.rejected] == ["cut off: no line end"]


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (b"<html>\n" * 2_000_000, "no samples on the page: over 100000 lines"),
        (b'a{b="' + b"x" * 15_000_000 + b"\n", "no samples on the page: a line of more than 16 KiB"),
        (b'a{b="' + b"x" * 15_000_000, "no samples on the page: cut off: no line end"),
        ((b"a{" + b'"' * 16_000 + b"\n") * 900, "no samples on the page: not a metric, its labels and a value"),
    ],
    ids=["lines", "long", "cut", "quotes"],
)
def test_a_page_of_rubbish_costs_little_and_is_said(page: bytes, why: str) -> None:
    began_s = time.process_time()
    outlet, _ = swept(iter([OK + b"Content-Length: %d\r\n\r\n" % len(page), page]), timeout="30")
    assert beaten(outlet) == [why]
    assert time.process_time() - began_s < 8.0
    assert len(outlet.rejected) == 1


def test_headers_without_end_are_given_up() -> None:
    outlet, sent = swept(endless(OK, b"X-More: %s\r\n" % (b"x" * 1000)), timeout="30")
    assert beaten(outlet) == ["more than 64 KiB of headers"]
    assert sent < 64 << 20


def test_a_page_in_chunks_of_a_byte_is_given_up() -> None:
    outlet, _ = swept(endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000), timeout="30")
    assert beaten(outlet) == ["more than 16 MiB"]


def test_buffers_go_from_target_to_target() -> None:
    buffers = Buffers()
    for _ in range(100):
        response = Response(buffers)
        response.restart()
        data = OK + b"Content-Length: %d\r\n\r\n" % len(PAGE) + PAGE.encode()
        response.room()[: len(data)] = data
        assert response.came(len(data)) == PAGE.encode()
        response.drop()
    assert len(buffers._free) == 1
