"""The source `dcgm`, once and served, over loopback."""

import argparse
import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.contract.topics import GPU_SCRAPES
from collectors.dcgm import source
from collectors.source import SourceError
from tests.collectors.dcgm_options import options
from tests.collectors.exporter import PAGE, plain, serving
from tests.collectors.list_outlet import ListOutlet


async def served_until(args: argparse.Namespace, outlet: ListOutlet, done: Callable[[], bool]) -> None:
    """Serve until something is so; a minute is for ever."""
    task = asyncio.create_task(source.serve(args, outlet))
    async with asyncio.timeout(60.0):
        while not done() and not task.done():
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_once_reads_what_there_is_and_says_what_there_is_not(tmp_path: Path) -> None:
    page = tmp_path / "a.prom"
    page.write_text(PAGE)
    outlet = ListOutlet()
    assert source.once(options("--target", str(page), "--target", "127.0.0.1:1"), outlet) == 1
    assert [scrape.node for scrape in outlet.of(GPU_SCRAPES)] == ["node-a"]
    found = {beat.target: (beat.ok, beat.samples, beat.bytes, beat.subject, beat.error) for beat in outlet.beats}
    assert found == {
        str(page): (True, 1, len(PAGE), "node-a", None),
        "http://127.0.0.1:1/metrics": (False, 0, 0, None, "Connection refused"),
    }


def test_once_fails_when_no_target_could_be_read() -> None:
    with pytest.raises(SourceError, match="none of 1 targets could be read"):
        source.once(options("--target", "127.0.0.1:1"), ListOutlet())


def test_once_without_a_target_says_what_to_give() -> None:
    with pytest.raises(SourceError, match="give --target URL or --targets FILE"):
        source.once(options(), ListOutlet())


def test_bytes_that_are_no_page_are_rejected_and_beaten(tmp_path: Path) -> None:
    page = tmp_path / "a.prom"
    page.write_bytes(b"\x89PNG\r\n\x1a\n")
    outlet = ListOutlet()
    with pytest.raises(SourceError):
        source.once(options("--target", str(page)), outlet)
    assert [(name, raw) for name, raw, _ in outlet.rejected] == [(f"dcgm:{page}", b"\x89PNG\r\n\x1a\n")]
    assert [(beat.ok, beat.error) for beat in outlet.beats] == [
        (False, "no samples on the page: not a metric, its labels and a value")
    ]


def test_a_target_that_hangs_delays_no_other() -> None:
    outlet = ListOutlet()

    async def run() -> None:
        async with serving(lambda _: None) as dead, serving(lambda _: plain(PAGE)) as well:
            args = options(
                "--target", f"127.0.0.1:{dead.port}", "--target", f"127.0.0.1:{well.port}", "--timeout", "30"
            )
            await served_until(args, outlet, lambda: len(outlet.published) >= 5)
            assert well.connections == 1

    asyncio.run(run())
    assert len(outlet.published) >= 5
    assert all(beat.ok for beat in outlet.beats)


def test_a_target_that_comes_back_is_read_again() -> None:
    outlet = ListOutlet()

    async def run() -> None:
        async with serving(lambda n: b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n" if n < 3 else plain(PAGE)) as e:
            args = options("--target", f"127.0.0.1:{e.port}")
            await served_until(args, outlet, lambda: len(outlet.published) >= 2)

    asyncio.run(run())
    assert [(beat.ok, beat.error) for beat in outlet.beats[:3]] == [
        (False, "HTTP status 500"),
        (False, "HTTP status 500"),
        (True, None),
    ]


def test_the_list_of_targets_is_followed(tmp_path: Path) -> None:
    outlet = ListOutlet()
    path = tmp_path / "targets.json"

    def nodes() -> set[str]:
        return {scrape.node for scrape in outlet.of(GPU_SCRAPES)}

    def refusals() -> list[str]:
        return [beat.error or "" for beat in outlet.beats if not beat.ok]

    async def run() -> None:
        second = PAGE.replace("node-a", "node-b")
        async with serving(lambda _: plain(PAGE)) as a, serving(lambda _: plain(second)) as b:
            path.write_text(json.dumps([{"targets": [f"127.0.0.1:{a.port}"]}]))
            task = asyncio.create_task(source.serve(options("--targets", str(path)), outlet))
            async with asyncio.timeout(60.0):
                while nodes() != {"node-a"}:
                    await asyncio.sleep(0.01)
                path.write_text("[ broken")
                while not refusals():
                    await asyncio.sleep(0.01)
                before = len(outlet.published)
                while len(outlet.published) == before:
                    await asyncio.sleep(0.01)
                path.write_text(json.dumps([{"targets": [f"127.0.0.1:{b.port}"]}]))
                while nodes() != {"node-a", "node-b"}:
                    await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert "not JSON" in refusals()[0]
