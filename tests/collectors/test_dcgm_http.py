"""Pages come over one kept connection, in every way HTTP/1.1 sends them."""

import asyncio
import gzip
from collections.abc import Callable

import pytest

from collectors.dcgm.client import Client
from collectors.dcgm.http import HttpError, read_url
from tests.collectors.exporter import PAGE, chunked, plain, serving


async def page(client: Client, within_s: float = 5.0) -> bytes:
    """One page, or what went wrong."""
    result: asyncio.Future[bytes | OSError] = asyncio.get_running_loop().create_future()
    client.fetch(result.set_result)
    if not (await asyncio.wait({result}, timeout=within_s))[0]:
        client.give_up(TimeoutError("too late"))
    found = await result
    if isinstance(found, OSError):
        raise found
    return found


def get(answer: Callable[[int], bytes | None], times: int = 1, close: bool = False) -> tuple[list[bytes], int]:
    """The bodies of some requests, and the connections they took."""

    async def run() -> tuple[list[bytes], int]:
        async with serving(answer) as exporter:
            exporter.close_after_each = close
            client = Client(read_url(f"http://127.0.0.1:{exporter.port}/metrics", 9400))
            bodies = [await page(client) for _ in range(times)]
            client.close()
            return bodies, exporter.connections

    return asyncio.run(run())


def test_one_connection_serves_many_sweeps() -> None:
    assert get(lambda _: plain(PAGE), times=5) == ([PAGE.encode()] * 5, 1)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_chunked_page_is_put_together(size: int) -> None:
    assert get(lambda _: chunked(PAGE * 3, size), times=2) == ([PAGE.encode() * 3] * 2, 1)


def test_a_connection_that_the_server_closed_meanwhile_is_opened_again() -> None:
    assert get(lambda _: plain(PAGE), times=3, close=True) == ([PAGE.encode()] * 3, 3)


def test_a_server_that_says_close_is_asked_on_a_new_connection() -> None:
    assert get(lambda _: plain(PAGE, "Connection: close\r\n"), times=2)[1] == 2


def test_a_page_without_a_length_ends_with_the_connection() -> None:
    assert get(lambda _: b"HTTP/1.0 200 OK\r\n\r\n" + PAGE.encode(), times=2, close=True) == ([PAGE.encode()] * 2, 2)


def test_a_compressed_page_is_unpacked() -> None:
    body = gzip.compress(PAGE.encode())
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    assert get(lambda _: head + body)[0] == [PAGE.encode()]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP status 404"),
        (b"HTTP/1.1 301 Moved\r\nLocation: https://a/\r\nContent-Length: 0\r\n\r\n", "HTTP status 301 to https://a/"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "a broken chunk"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "Content-Length: many"),
    ],
)
def test_an_answer_that_is_no_page_is_said(data: bytes, why: str) -> None:
    with pytest.raises(HttpError) as failure:
        get(lambda _: data)
    assert str(failure.value) == why


def test_a_page_cut_short_is_said() -> None:
    with pytest.raises(ConnectionError, match="closed before the end"):
        get(lambda _: plain(PAGE)[:-5], close=True)


def test_a_server_that_hangs_is_given_up_after_the_timeout_and_asked_anew() -> None:
    async def run() -> tuple[str, bytes, int]:
        async with serving(lambda n: None if n == 1 else plain(PAGE)) as exporter:
            client = Client(read_url(f"http://127.0.0.1:{exporter.port}", 9400))
            with pytest.raises(TimeoutError) as failure:
                await page(client, 0.2)
            return str(failure.value), await page(client), exporter.connections

    assert asyncio.run(run()) == ("too late", PAGE.encode(), 2)


def test_user_and_headers_go_with_the_request() -> None:
    async def run() -> bytes:
        async with serving(lambda _: plain(PAGE)) as exporter:
            url = read_url(f"http://u:p%40@127.0.0.1:{exporter.port}/m?a=b", 9400, ("X-Scope: 1",))
            client = Client(url)
            await page(client)
            client.close()
            return exporter.requests[0]

    lines = asyncio.run(run()).decode().split("\r\n")
    assert lines[0] == "GET /m?a=b HTTP/1.1"
    assert {"X-Scope: 1", "Authorization: Basic dTpwQA=="} <= set(lines)
