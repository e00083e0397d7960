"""`lockstep collect links`: a file told once, and followed."""

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from collectors.contract.fabric import Link
from collectors.contract.topics import FABRIC_LINKS
from collectors.links import source
from collectors.links.forms import MapError
from collectors.links.service import Service
from collectors.links.told import changes
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet

T0_S = 1_800_000_000
HEAD = "device,port,far_device\n"
LOOK_S = 0.01


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from collectors.contract.kafka import kafka_settings

    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    return tmp_path / "state"


def write(path: Path, rows: str, second: int) -> None:
    """As of that second, in one step."""
    fresh = path.with_name("fresh")
    fresh.write_text(HEAD + rows)
    os.utime(fresh, (T0_S + second, T0_S + second))
    fresh.replace(path)


def told(outlet: ListOutlet) -> list[tuple[int, str, str, bool]]:
    """(second, port, far end, up) of what was published."""
    return [(link.ts_us // 1_000_000 - T0_S, link.port, link.far_device, link.up) for link in outlet.of(FABRIC_LINKS)]


def service(path: Path, outlet: ListOutlet) -> Service:
    return Service(path, outlet, 60.0, "host", None)


async def until(there: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not there():
            await asyncio.sleep(LOOK_S)


def following(path: Path, story: Callable[[ListOutlet], Awaitable[None]]) -> ListOutlet:
    """Runs a story beside a service that follows the file."""
    outlet = ListOutlet()

    async def run() -> None:
        one = service(path, outlet)
        one.begin()
        task = asyncio.create_task(one.follow(LOOK_S))
        await story(outlet)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        one.close()

    asyncio.run(run())
    return outlet


def test_once_tells_every_link_as_of_when_the_file_was_written(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", "l,p1,a\nl,p2,b\n", 0)
    outlet = ListOutlet()
    assert source.once(argparse.Namespace(file=tmp_path / "c.csv"), outlet) == 2
    assert told(outlet) == [(0, "p1", "a", True), (0, "p2", "b", True)]


def test_without_follow_the_file_is_told_and_the_process_ends(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", "l,p1,a\n", 0)
    outlet = ListOutlet()
    args = argparse.Namespace(file=tmp_path / "c.csv", follow=False, interval=1.0, node="host")
    asyncio.run(source.serve(args, outlet))
    assert told(outlet) == [(0, "p1", "a", True)]
    size = args.file.stat().st_size
    assert [(b.collector, b.ok, b.messages, b.samples, b.bytes, b.interval_s) for b in outlet.beats] == [
        ("links@host", True, 1, 1, size, None)
    ]


def test_only_what_changed_in_the_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    write(path, "l,p1,a\nl,p2,b\nl,p3,c\n", 0)

    async def story(outlet: ListOutlet) -> None:
        write(path, "l,p1,a\nl,p2,x\nl,p4,d\n", 7)
        await until(lambda: len(outlet.published) >= 6)

    assert told(following(path, story))[3:] == [(7, "p2", "x", True), (7, "p4", "d", True), (7, "p3", "c", False)]


def test_a_mistake_in_the_file_changes_nothing_until_it_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    write(path, "l,p1,a\n", 0)

    async def story(outlet: ListOutlet) -> None:
        write(path, "l,p1\n", 1)
        await until(lambda: len(outlet.rejected) == 1)
        path.unlink()
        await until(lambda: len(outlet.rejected) == 2)
        write(path, "l,p1,b\n", 2)
        await until(lambda: len(outlet.published) >= 2)

    outlet = following(path, story)
    assert told(outlet) == [(0, "p1", "a", True), (2, "p1", "b", True)]
    assert [why for _, _, why in outlet.rejected] == [
        f"{path}:2: 2 cells under a header of 3",
        f"{path}: No such file or directory",
    ]


def test_a_cable_that_left_the_file_while_nobody_looked_is_told_as_gone_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    write(path, "l,p1,a\nl,p2,b\n", 0)
    first, second, third = ListOutlet(), ListOutlet(), ListOutlet()
    for outlet, rows, at in ((first, None, 0), (second, "l,p1,a\n", 5), (third, "l,p1,a\n", 9)):
        if rows is not None:
            write(path, rows, at)
        one = service(path, outlet)
        one.begin()
        one.close()
    # All is told again at each start: Kafka may be a new one. What did not change is as old as it was.
    assert told(second) == [(0, "p1", "a", True), (5, "p2", "b", False)]
    assert told(third) == [(0, "p1", "a", True)]


def test_a_change_is_never_older_than_what_it_changes() -> None:
    former = Link(ts_us=100, device="l", port="p", far_device="a")
    restored = Link(ts_us=50, device="l", port="p", far_device="b")
    assert [link.ts_us for _, link in changes({"k": former}, {"k": restored}, 50)] == [101]
    assert [link.ts_us for _, link in changes({"k": former}, {}, 50)] == [101]


def test_a_file_that_cannot_be_read_at_the_start_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(MapError, match=r"none\.csv: No such file"):
        service(tmp_path / "none.csv", ListOutlet()).begin()
    (tmp_path / "latin.csv").write_bytes(b"device,port\nl,\xe9\n")
    with pytest.raises(MapError, match=r"latin\.csv:2: not UTF-8 text"):
        service(tmp_path / "latin.csv", ListOutlet()).begin()
    with pytest.raises(SourceError, match="cannot be followed"):
        asyncio.run(source.serve(argparse.Namespace(file=Path("-"), follow=True), ListOutlet()))
