"""A job's folder of Inspector files: read once, and while it is written."""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import NCCL_WINDOWS
from collectors.nccl import source
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.serving import parsed, until


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    path = tmp_path / "nccl-inspector-77"
    path.mkdir()
    yield path
    kafka_settings.cache_clear()


def options(*words: str) -> argparse.Namespace:
    return parsed(source, *words)


def line(seq: int) -> str:
    return json.dumps(
        {
            "header": {"id": "0x1", "rank": 0, "n_ranks": 8, "nnodes": 1},
            "metadata": {"dump_timestamp_us": 1_700_000_000_000_000 + seq, "hostname": "gpu-1", "pid": 1},
            "coll_perf": {"coll": "AllReduce", "coll_sn": seq, "coll_exec_time_us": 5},
        }
    )


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def seqs(outlet: ListOutlet) -> list[int]:
    return [seq for window in outlet.of(NCCL_WINDOWS) for seq in window.seq]


def test_a_folder_is_read_once(folder: Path) -> None:
    append(folder / "gpu-1-pid1.log", line(1) + "\n\n" + line(2) + "\n")
    append(folder / "gpu-1-pid2.log", line(3))
    (folder / "notes.txt").write_text("no log")
    outlet = ListOutlet()
    assert source.once(options("--dir", str(folder)), outlet) == 1
    assert seqs(outlet) == [1, 2, 3]
    assert {window.job for window in outlet.of(NCCL_WINDOWS)} == {"77"}


def test_a_bad_line_is_rejected_with_file_and_line(folder: Path) -> None:
    append(folder / "f.log", line(1) + "\nnonsense\n" + line(2)[:20])
    outlet = ListOutlet()
    source.once(options("--dir", str(folder), "--job", "j"), outlet)
    assert seqs(outlet) == [1]
    assert [(raw, why.split(": ")[0]) for _, raw, why in outlet.rejected] == [
        (b"nonsense", f"{folder}/f.log:2"),
        (line(2)[:20].encode(), f"{folder}/f.log:3"),
    ]


def test_a_folder_that_is_not_there_is_said(folder: Path) -> None:
    with pytest.raises(SourceError, match="no such folder"):
        source.once(options("--dir", str(folder / "x"), "--job", "j"), ListOutlet())


def test_a_folder_without_a_jobs_name_needs_one(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="give --job"):
        source.once(options("--dir", str(tmp_path)), ListOutlet())


async def while_serving(folder: Path, outlet: ListOutlet, story: Callable[[], Awaitable[None]]) -> None:
    serving = asyncio.create_task(source.serve(options("--dir", str(folder)), outlet))
    try:
        await story()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def test_files_are_read_as_they_grow_and_a_restart_goes_on(folder: Path) -> None:
    outlet, one, two = ListOutlet(), folder / "a.log", folder / "b.log"

    async def first() -> None:
        append(one, line(1) + "\n" + line(2)[:30])
        await until(lambda: seqs(outlet) == [1])
        append(one, line(2)[30:] + "\n")
        await until(lambda: seqs(outlet) == [1, 2])
        append(two, line(3) + "\n")
        await until(lambda: seqs(outlet) == [1, 2, 3])
        two.unlink()
        append(one, line(4) + "\n")
        await until(lambda: seqs(outlet) == [1, 2, 3, 4])

    async def second() -> None:
        append(one, line(5) + "\n")
        await until(lambda: seqs(outlet) == [1, 2, 3, 4, 5])
        one.write_text(line(6) + "\n")
        await until(lambda: seqs(outlet) == [1, 2, 3, 4, 5, 6])

    asyncio.run(while_serving(folder, outlet, first))
    asyncio.run(while_serving(folder, outlet, second))
    assert outlet.rejected == []
    assert sum(beat.samples for beat in outlet.beats) <= 6
    assert {beat.ok for beat in outlet.beats} == {True}
    assert sum(beat.bytes for beat in outlet.beats) == sum(len(line(n)) + 1 for n in range(1, 7))


def test_a_folder_that_comes_later_is_waited_for(folder: Path) -> None:
    folder.rmdir()
    outlet = ListOutlet()

    async def story() -> None:
        await until(lambda: bool(outlet.beats))
        folder.mkdir()
        append(folder / "a.log", line(1) + "\n")
        await until(lambda: seqs(outlet) == [1])

    asyncio.run(while_serving(folder, outlet, story))
    assert (outlet.beats[0].ok, outlet.beats[0].error) == (False, f"--dir {folder}: no such folder")
