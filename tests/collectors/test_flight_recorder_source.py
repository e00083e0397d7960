"""A folder of dumps: read once, and while ranks write into it."""

import argparse
import asyncio
import os
import pickle
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from collectors.contract.job import CollectiveWindow
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import NCCL_WINDOWS
from collectors.flight_recorder import source
from collectors.source import SourceError
from tests.collectors.fr_dumps import as_json, pickled
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.serving import parsed, until
from tests.collectors.test_flight_recorder_unpickle import Runs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    path = tmp_path / "dumps"
    path.mkdir()
    yield path
    kafka_settings.cache_clear()


def options(folder: Path, *words: str) -> argparse.Namespace:
    return parsed(source, "--node", "n", "--dir", str(folder), "--job", "j", *words)


def ranks(outlet: ListOutlet) -> list[int | None]:
    return sorted({window.job_rank for window in outlet.of(NCCL_WINDOWS)})


def test_every_ranks_dump_is_read_whatever_its_form(folder: Path) -> None:
    for rank in range(3):
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickled(rank))
    (folder / "nccl_trace_rank_3.json").write_bytes(as_json(3))
    (folder / "nccl_trace_rank_x").write_text("no dump")
    (folder / "other_7").write_text("no dump")
    outlet = ListOutlet()
    assert source.once(options(folder), outlet) == 6
    assert ranks(outlet) == [0, 1, 2, 3]
    window: CollectiveWindow = outlet.of(NCCL_WINDOWS)[0]
    written_us = (folder / "nccl_trace_rank_0").stat().st_mtime_ns // 1000
    assert (window.job, window.node, window.ts_us) == ("j", "n", written_us)
    assert outlet.rejected == []


def test_a_hostile_dump_is_rejected_and_the_others_are_read(folder: Path) -> None:
    hostile = pickle.dumps({"entries": [Runs()]}, protocol=2)
    (folder / "nccl_trace_rank_0").write_bytes(hostile)
    (folder / "nccl_trace_rank_1").write_bytes(pickled(1))
    outlet = ListOutlet()
    source.once(options(folder), outlet)
    assert ranks(outlet) == [1]
    [(name, raw, why)] = outlet.rejected
    assert (name, raw) == (f"flight-recorder:{folder}/nccl_trace_rank_0", hostile)
    assert why == f"{folder}/nccl_trace_rank_0: byte {hostile.index(b'cposix')}: it asks for posix.system"


def test_other_prefixes_and_shared_folders(folder: Path) -> None:
    (folder / "rank_5").write_bytes(pickled(1))
    outlet = ListOutlet()
    source.once(options(folder, "--prefix", "rank_", "--shared"), outlet)
    window = outlet.of(NCCL_WINDOWS)[0]
    assert (window.job_rank, window.node, window.rank[0]) == (5, "", None)


def test_a_special_file_is_not_read(folder: Path) -> None:
    os.mkfifo(folder / "nccl_trace_rank_0")
    (folder / "nccl_trace_rank_1").mkdir()
    outlet = ListOutlet()
    source.once(options(folder), outlet)
    assert [why for _, _, why in outlet.rejected] == [f"{folder}/nccl_trace_rank_{n}: not a plain file" for n in (0, 1)]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--dir", "/nowhere", "--job", "j"], "--dir /nowhere: No such file or directory"),
        (["--dir", "/nowhere"], "a dump does not say which job it is of; give --job"),
        (["--dir", "/", "--job", "j"], "--dir /: no file nccl_trace_rank_RANK in it"),
        (["--dir", "/", "--job", "j", "--last", "-1"], "--last -1: write a whole number"),
    ],
)
def test_a_mistake_of_the_users_is_said(words: list[str], why: str) -> None:
    with pytest.raises(SourceError, match=why):
        source.once(parsed(source, *words), ListOutlet())


async def while_serving(folder: Path, outlet: ListOutlet, story: Callable[[], Awaitable[None]]) -> None:
    serving = asyncio.create_task(source.serve(options(folder), outlet))
    try:
        await story()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def test_dumps_are_read_when_they_are_whole_and_once(folder: Path) -> None:
    outlet, one = ListOutlet(), folder / "nccl_trace_rank_1"

    async def first() -> None:
        await until(lambda: bool(outlet.beats))
        whole = pickled(1)
        one.write_bytes(whole[:500])
        looks = len(outlet.beats)
        await until(lambda: len(outlet.beats) > looks + 5)
        assert (outlet.of(NCCL_WINDOWS), outlet.rejected) == ([], [])
        one.write_bytes(whole)
        await until(lambda: ranks(outlet) == [1])
        (folder / "nccl_trace_rank_2").write_bytes(pickled(2))
        await until(lambda: ranks(outlet) == [1, 2])

    async def second() -> None:
        (folder / "nccl_trace_rank_0").write_bytes(pickled(0))
        await until(lambda: 0 in ranks(outlet))
        (folder / "nccl_trace_rank_2").write_bytes(pickled(2, entries=[]))
        await until(lambda: len(outlet.of(NCCL_WINDOWS)) == 6)

    asyncio.run(while_serving(folder, outlet, first))
    asyncio.run(while_serving(folder, outlet, second))
    assert {beat.ok for beat in outlet.beats} == {True}
    assert sum(beat.messages for beat in outlet.beats) <= 6


def test_a_dump_that_never_ends_is_given_up(folder: Path) -> None:
    outlet, one = ListOutlet(), folder / "nccl_trace_rank_1"
    one.write_bytes(pickled(1)[:500])
    os.utime(one, (1_700_000_000, 1_700_000_000))

    async def story() -> None:
        await until(lambda: any(not beat.ok for beat in outlet.beats))

    asyncio.run(while_serving(folder, outlet, story))
    assert [why for _, _, why in outlet.rejected] == [f"{one}: cut off after 500 bytes"]


def test_a_folder_that_comes_later_is_waited_for(folder: Path) -> None:
    folder.rmdir()
    outlet, whole = ListOutlet(), pickled(1)

    async def story() -> None:
        await until(lambda: bool(outlet.beats))
        folder.mkdir()
        (folder / "nccl_trace_rank_1").write_bytes(whole)
        await until(lambda: ranks(outlet) == [1])
        await until(lambda: sum(beat.bytes for beat in outlet.beats) == len(whole))

    asyncio.run(while_serving(folder, outlet, story))
    assert (outlet.beats[0].ok, outlet.beats[0].error) == (False, f"--dir {folder}: No such file or directory")


def test_check_names_the_ranks_that_left_no_dump(folder: Path) -> None:
    [empty] = source.check(options(folder))
    assert (empty.ok, empty.sees) == (True, "an empty folder")
    assert f"TORCH_NCCL_DEBUG_INFO_TEMP_FILE={folder}/nccl_trace_rank_" in empty.advice
    for rank in (0, 3):
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickled(rank))
    [sight] = source.check(options(folder))
    assert (sight.ok, sight.sees) == (False, "2 dumps")
    assert sight.lacks == "dumps of ranks 1-2, which are in the same groups"
    (folder / "nccl_trace_rank_1").write_bytes(b"junk")
    bad, _ = source.check(options(folder))
    assert (bad.ok, bad.sees) == (False, "no dump")
    [gone] = source.check(options(folder / "x"))
    assert not gone.ok
