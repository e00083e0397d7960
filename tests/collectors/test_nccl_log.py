"""Init COMPLETE lines of NCCL's log: members of communicators, and where a job's ranks are."""

import argparse
import asyncio
from pathlib import Path

import pytest

from collectors.contract.topics import JOB_PLACEMENTS, NCCL_WINDOWS
from collectors.nccl_log import source
from collectors.nccl_log.line import InitComplete, pci_of, read_line
from collectors.nccl_log.membership import Membership
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.serving import parsed, until


def line(
    rank: int, size: int = 4, comm: str | None = "adcb40d61cc1bc", head: str = "", func: str = "ncclCommInitRank "
) -> str:
    host, gpu = f"gpu-{1 + rank // 2}", rank % 2
    named = f"commId 0x{comm}" if comm else "parent 0x5951213c0f90 splitCount 1 color 1684518034 key 0"
    return (
        f"{head}{host}:{400 + rank}:{900 + rank} [{gpu}] NCCL INFO {func}comm 0x5e303a52bd70 rank {rank} nranks {size} "
        f"cudaDev {gpu} nvmlDev {gpu + 4} busId {0x1B + gpu:x}000 {named} - Init COMPLETE"
    )


WHOLE = InitComplete(host="gpu-2", pid=403, rank=3, size=4, gpu=1, nvml=5, pci="0000:1c:00", comm="00adcb40d61cc1bc")


@pytest.mark.parametrize(
    "head", ["", "[2026-05-05 06:16:47] ", "[default3]:", " 3: [2026-05-05 06:16:47.123] ", "\x1b[32mworker | \x1b[0m"]
)
def test_whatever_stands_before_ncclss_own_prefix_is_skipped(head: str) -> None:
    assert read_line(line(3, head=head)) == WHOLE
    assert read_line(line(3, head=head, func="")) == WHOLE
    assert read_line(line(3, head=head, func="ncclCommInitRankConfig ")) == WHOLE


def test_a_communicator_that_was_split_off_has_no_name() -> None:
    found = read_line(line(3, comm=None, func="ncclCommSplit "))
    assert found is not None
    assert (found.comm, found.rank, found.pci) == (None, 3, "0000:1c:00")


def test_old_releases_say_less() -> None:
    old = "node01:3384:3414 [0] NCCL INFO comm 0x7fe3d4001980 rank 0 nranks 1 cudaDev 0 nvmlDev 0 - Init COMPLETE"
    assert read_line(old) == InitComplete(host="node01", pid=3384, rank=0, size=1, gpu=0, nvml=0)
    older = "node01:3384:3414 [0] NCCL INFO comm 0x7fe3d4001980 rank 0 nRanks 2 cudaDev 0 busId 1b000 - Init COMPLETE"
    found = read_line(older)
    assert found is not None
    assert (found.nvml, found.pci) == (None, "0000:1b:00")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Init COMPLETE",
        line(3)[:-4],
        line(3).replace("COMPLETE", "START"),
        line(3).replace("NCCL INFO", "NCCL WARN"),
        line(7),
        line(3).replace("rank 3", "rank x"),
    ],
)
def test_other_lines_are_none(text: str) -> None:
    assert read_line(text) is None


@pytest.mark.parametrize(("bus", "pci"), [(0x5D000, "0000:5d:00"), (0x1009010, "0010:09:01"), (0, "0000:00:00")])
def test_a_bus_id_is_a_pci_address(bus: int, pci: str) -> None:
    assert pci_of(bus) == pci


def options(*words: str) -> argparse.Namespace:
    return parsed(source, *words)


def test_a_whole_job_is_members_and_a_placement(tmp_path: Path) -> None:
    path, outlet = tmp_path / "log", ListOutlet()
    pair = [line(0, 2, "77"), line(1, 2, "77")]
    path.write_text("\n".join(["hello", *pair, line(2), line(0), line(3), line(1), line(1), line(0, 2, None)]) + "\n")
    assert source.once(options("--file", str(path), "--job", "j"), outlet) == 3
    two, four = outlet.of(NCCL_WINDOWS)
    assert (two.source, two.comm, two.comm_size, two.comm_nodes, two.rank) == ("nccl-log", "0" * 14 + "77", 2, 1, [])
    assert (four.comm_size, four.comm_nodes, [m.rank for m in four.members]) == (4, 2, [2, 0, 3, 1])
    member = four.members[0]
    assert (member.host, member.pid, member.gpu, member.nvml, member.pci) == ("gpu-2", 402, 0, 4, "0000:1b:00")
    [placed] = outlet.of(JOB_PLACEMENTS)
    assert (placed.job, placed.kind, placed.source) == ("j", "placed", "nccl-log")
    assert [(p.rank, p.node, p.gpu_index) for p in placed.placement] == [
        (0, "gpu-1", 4),
        (1, "gpu-1", 5),
        (2, "gpu-2", 4),
        (3, "gpu-2", 5),
    ]
    assert placed.ts_us == path.stat().st_mtime_ns // 1000


def test_a_log_of_half_the_job_places_nothing(tmp_path: Path) -> None:
    (tmp_path / "gpu-1.400").write_text(line(0) + "\n")
    (tmp_path / "gpu-1.401").write_text(line(1) + "\n")
    outlet = ListOutlet()
    source.once(options("--dir", str(tmp_path), "--job", "j"), outlet)
    assert [m.rank for w in outlet.of(NCCL_WINDOWS) for m in w.members] == [0, 1]
    assert outlet.of(JOB_PLACEMENTS) == []
    [sight] = source.check(options("--dir", str(tmp_path), "--job", "j"))
    assert (sight.ok, sight.lacks) == (False, "2 ranks of communicator 00adcb40d61cc1bc")


def lacks(*lines: str) -> str:
    membership = Membership(cluster="c", job="j")
    for text in lines:
        found = read_line(text)
        assert found is not None
        membership.add(found)
    placed = membership.placement(1)
    assert (placed is None) == bool(membership.lacks())
    return membership.lacks()


def test_groups_of_a_job_are_not_the_job() -> None:
    """Two tensor-parallel pairs whose job has no communicator of all four."""
    first, second = (
        [line(n, 2, "a1") for n in (0, 1)],
        [line(n, 2, "b2").replace("gpu-1:40", "gpu-7:50") for n in (0, 1)],
    )
    assert lacks(*first) == ""
    assert lacks(*first, *second) == "a communicator of all 4 processes: the largest has 2"


def test_a_node_whose_groups_reach_beyond_it_is_not_the_job() -> None:
    pair = [line(n, 2, "a1") for n in (0, 1)]
    assert lacks(*pair, line(0, 8, "c3")) == "7 ranks of communicator 00000000000000c3"
    assert lacks(*pair, line(0, 8, "c3"), line(1, 2, "d4")) == (
        "7 ranks of communicator 00000000000000c3, and ranks of 1 others"
    )
    split = line(0, 8, None)
    assert lacks(*pair, split) == "a communicator of 8 ranks by name, 2 processes are known"


def test_a_job_that_starts_again_is_placed_again(tmp_path: Path) -> None:
    first = [line(n) for n in range(4)]
    again = [line(n, comm="2").replace("gpu-2", "gpu-9").replace(":40", ":50") for n in range(4)]
    (tmp_path / "log").write_text("\n".join([*first, *again]) + "\n")
    outlet = ListOutlet()
    source.once(options("--file", str(tmp_path / "log"), "--job", "j"), outlet)
    [placed] = outlet.of(JOB_PLACEMENTS)
    assert [p.node for p in placed.placement] == ["gpu-1", "gpu-1", "gpu-9", "gpu-9"]


def test_ranks_are_told_as_they_join(tmp_path: Path) -> None:
    outlet, path = ListOutlet(), tmp_path / "logs" / "all"

    async def story() -> None:
        serving = asyncio.create_task(
            source.serve(options("--dir", str(path.parent), "--job", "j", "--follow"), outlet)
        )
        await until(lambda: bool(outlet.beats))
        path.parent.mkdir()
        path.write_text(line(0) + "\n" + line(1)[:50])
        await until(lambda: len(outlet.of(NCCL_WINDOWS)) == 1)
        with path.open("a") as file:
            file.write(line(1)[50:] + "\n" + line(2) + "\n" + line(3) + "\n")
        await until(lambda: bool(outlet.of(JOB_PLACEMENTS)))
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(story())
    assert (outlet.beats[0].ok, outlet.beats[0].error) == (False, f"--dir {path.parent}: No such file or directory")
    assert [m.rank for w in outlet.of(NCCL_WINDOWS) for m in w.members] == [0, 1, 2, 3]
    assert sum(beat.bytes for beat in outlet.beats) == path.stat().st_size


def test_without_following_the_logs_are_served_once(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(line(0))
    outlet = ListOutlet()
    asyncio.run(source.serve(options("--dir", str(tmp_path), "--job", "j"), outlet))
    assert [(beat.ok, beat.messages, beat.samples, beat.bytes) for beat in outlet.beats] == [(True, 1, 1, len(line(0)))]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "give --file F or --dir D"),
        (["--file", "/nowhere/x"], "give --job"),
        (["--file", "/nowhere/x", "--job", "j"], "--file /nowhere/x: no such file"),
        (["--dir", "/nowhere", "--job", "j"], "--dir /nowhere: No such file"),
    ],
)
def test_a_mistake_of_the_users_is_said(words: list[str], why: str) -> None:
    with pytest.raises(SourceError, match=why):
        source.once(options(*words), ListOutlet())


@pytest.mark.captures
def test_a_benchmarks_log_without_such_lines_has_none(captures: Path) -> None:
    outlet = ListOutlet()
    path = captures / "nccl-tests" / "nccl_allreduce.log"
    assert source.once(options("--file", str(path), "--job", "j"), outlet) == 0
    [sight] = source.check(options("--file", str(path), "--job", "j"))
    assert sight.advice.startswith("set NCCL_DEBUG=INFO")
