"""Results of nccl-tests: printed tables of every release, and reports."""

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.job import CollectiveWindow
from collectors.contract.topics import NCCL_WINDOWS
from collectors.nccl.cut import cut
from collectors.nccl.operation import operation
from collectors.nccl_tests import source
from collectors.nccl_tests.intake import read_runs
from collectors.nccl_tests.run import collective_of
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.serving import parsed

NEW = """\
# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: reduce_scatter_perf
# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1
#
# Using devices
#  Rank  0 Group  0 Pid    410 on      gpu-1 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid    411 on      gpu-2 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
        1024           256     float     sum      -1    11.50    0.09    0.04       0    11.25    0.09    0.05       3
gpu-1:410:415 [0] NCCL INFO Launch mode Parallel
        2048           512     float     sum      -1  1.1e+06    0.00    0.00     N/A  1.2e+06    0.00    0.00     N/A
# Out of bounds values : 3 FAILED
# Avg bus bandwidth    : 0.05
#
# Collective test concluded: reduce_scatter_perf
"""


def options(*words: str) -> argparse.Namespace:
    return parsed(source, *words)


def collected(
    tmp_path: Path, text: str, *words: str, name: str = "run.log"
) -> tuple[list[CollectiveWindow], ListOutlet]:
    path, outlet = tmp_path / name, ListOutlet()
    path.write_text(text)
    source.once(options("--file", str(path), *words), outlet)
    return outlet.of(NCCL_WINDOWS), outlet


@pytest.mark.captures
@pytest.mark.parametrize(
    ("name", "collective", "average"),
    [
        ("nccl_allreduce", "AllReduce", 68.4048),
        ("nccl_alltoall", "AllToAll", 58.6481),
    ],
)
def test_every_row_of_a_real_table_is_there_as_printed(
    captures: Path, name: str, collective: str, average: float
) -> None:
    path, outlet = captures / "nccl-tests" / f"{name}.log", ListOutlet()
    source.once(options("--file", str(path)), outlet)
    [window] = outlet.of(NCCL_WINDOWS)
    # An eye that knows no columns: a row is a line that begins with a size, its last eight words are the two halves.
    rows = [line.split() for line in path.read_text().splitlines() if line[:12].strip().isdigit()]
    expected = [
        (int(row[0]), float(half[0]), float(half[1]), float(half[2])) for row in rows for half in (row[-8:-4], row[-4:])
    ]
    assert len(rows) == 34
    assert list(zip(window.bytes, window.exec_us, window.algbw_gbs, window.busbw_gbs, strict=True)) == expected
    assert set(window.coll) == {collective}
    assert (window.comm_size, [member.pid for member in window.members[:1]]) == (
        8,
        [int(path.read_text().split("Pid ")[1].split()[0])],
    )
    assert sum(map(float, filter(None, window.busbw_gbs))) / len(window.busbw_gbs) == pytest.approx(average, abs=0.005)
    assert outlet.rejected == []


def test_a_new_release_says_collective_hosts_and_what_was_wrong(tmp_path: Path) -> None:
    [window], outlet = collected(tmp_path, NEW)
    assert window.coll == ["ReduceScatter"] * 4
    assert (window.node, window.comm_size, window.comm_nodes) == ("gpu-1", 2, 2)
    assert [(m.rank, m.host, m.pid, m.gpu, m.pci) for m in window.members] == [
        (0, "gpu-1", 410, 0, "0000:1b:00"),
        (1, "gpu-2", 411, 0, "0000:1b:00"),
    ]
    assert window.variant == ["out_of_place", "in_place"] * 2
    assert window.exec_us == [11.5, 11.25, 1.1e6, 1.2e6]
    assert window.wrong == [0.0, 3.0, None, None]
    assert (window.rank, window.seq) == ([None] * 4, [None] * 4)
    assert outlet.rejected == []


def test_runs_that_follow_each_other_are_windows_of_their_own(tmp_path: Path) -> None:
    found, _ = collected(tmp_path, NEW + NEW.replace("reduce_scatter", "all_gather").replace("410", "510"))
    assert [window.coll[0] for window in found] == ["ReduceScatter", "AllGather"]
    assert len({window.comm for window in found}) == 2


def test_per_iteration_columns_and_time_stamps_shift_nothing(tmp_path: Path) -> None:
    half = "time algbw busbw #wrong i_min i_max i_p99 i_cv%"
    text = f"#  size count type redop root {half} {half} timestamp\n"
    values = "10.5 1.00 1.75 0 10.1 11.2 11.1 3.3"
    text += f"  1024 256 float none -1 {values} {values.replace('1.75', '1.50')} 2026-05-05 06:16:47\n"
    [window], _ = collected(tmp_path, text, name="all_gather.txt")
    assert (window.coll[0], window.busbw_gbs, window.exec_us) == ("AllGather", [1.75, 1.5], [10.5, 10.5])


def test_a_blank_first_half_is_not_the_second(tmp_path: Path) -> None:
    head = "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    [window], _ = collected(tmp_path, head + "  1024 256 float sum -1      10.5 1.00 1.75 0\n")
    assert (window.variant, window.busbw_gbs) == (["in_place"], [1.75])


def test_a_row_that_lost_a_word_is_rejected_with_its_line(tmp_path: Path) -> None:
    [window], outlet = collected(tmp_path, NEW.replace("    0.04       0    11.25", "    0.04  11.25"))
    assert len(window.rank) == 2
    [(name, _, why)] = outlet.rejected
    assert name == f"nccl-tests:{tmp_path}/run.log"
    assert why == f"{tmp_path}/run.log:12: 12 words where the header has 13"


def test_a_row_of_an_old_release_that_lost_its_reduction_is_not_shifted(tmp_path: Path) -> None:
    head = "#  size count type redop time algbw busbw error time algbw busbw error\n"
    row = "  1024 256 float sum 10.5 1.00 1.75 N/A 10.5 1.00 1.75 N/A\n"
    [window], outlet = collected(tmp_path, head + row + row.replace(" 10.5 1.00", " 1.00", 1))
    assert len(window.rank) == 2
    assert "could not convert string to float: 'sum'" in outlet.rejected[0][2]


def test_a_last_line_without_its_end_is_not_read(tmp_path: Path) -> None:
    whole = NEW[: NEW.index("# Out of bounds")]
    [window], outlet = collected(tmp_path, whole[:-3])
    assert len(window.rank) == 2
    assert outlet.rejected[0][2] == f"{tmp_path}/run.log:14: cut off: no newline ends it"


def test_the_collective_may_be_told(tmp_path: Path) -> None:
    text = NEW.replace("# Collective test starting: reduce_scatter_perf\n", "")
    assert collected(tmp_path, text)[0][0].coll[0] == "unknown"
    assert collected(tmp_path, text, "--collective", "all_gather")[0][0].coll[0] == "AllGather"
    assert collected(tmp_path, text, name="h100-sendrecv-2.log")[0][0].coll[0] == "SendRecv"
    with pytest.raises(SourceError, match="--collective all_gaher: no such collective"):
        collected(tmp_path, text, "--collective", "all_gaher")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("all_reduce_perf", "AllReduce"),
        ("alltoallv_perf", "AllToAllV"),
        ("nccl_reduce", "Reduce"),
        ("reduce_scatter", "ReduceScatter"),
        ("notes", None),
        ("", None),
    ],
)
def test_the_longest_name_in_a_files_name_is_taken(name: str, found: str | None) -> None:
    assert collective_of(name) == found


def test_names_of_pytorch_and_nccl_are_one() -> None:
    assert [
        operation(name) for name in ("_all_gather_base", "ALLGATHER_coalesced", "AllReduce", "all_to_all_single", "x")
    ] == [
        "AllGather",
        "AllGather",
        "AllReduce",
        "AllToAll",
        None,
    ]


def report(**changes: Any) -> bytes:
    half = {"time": 11.5, "alg_bw": 0.089, "bus_bw": 0.156, "nwrong": None}
    devices = [
        {"rank": 0, "pid": 7, "hostname": "gpu-1", "device": 0, "device_hex": "0000:1b:00"},
        {"rank": 4, "pid": 8, "hostname": "gpu-2", "device": 0, "device_hex": "0000:1b:00"},
    ]
    whole = {
        "version": 2,
        "start_time": "2026-05-05 06:16:47",
        "args": ["./build/all_reduce_perf", "-J", "x.json"],
        "config": {"nthreads": 1, "ngpus": 4, "devices": devices},
        "results": [
            {
                "size": 1024,
                "count": 256,
                "type": "float",
                "redop": "sum",
                "root": "    -1",
                "out_of_place": half,
                "in_place": {"cpu_time": 9.0, "alg_bw": "nan", "bus_bw": 0, "nwrong": 2},
            },
            {"size": 2048, "count": 512, "type": "float", "redop": "sum", "out_of_place": None, "in_place": half},
        ],
    }
    return json.dumps(whole | changes).encode()


def test_a_report_is_read_as_its_table(tmp_path: Path) -> None:
    [window], _ = collected(tmp_path, report().decode())
    assert (window.coll[0], window.comm_size, window.comm_nodes) == ("AllReduce", 8, 2)
    assert window.bytes == [1024, 1024, 2048]
    assert window.variant == ["out_of_place", "in_place", "in_place"]
    assert window.exec_us == [11.5, 9.0, 11.5]
    assert (window.algbw_gbs, window.busbw_gbs) == ([0.089, None, 0.089], [0.156, 0.0, 0.156])
    assert window.wrong == [None, 2.0, None]


def test_half_a_report_is_none(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"run\.log: not a report of nccl-tests -J: Input data was truncated"):
        collected(tmp_path, report().decode()[:-9])


@pytest.mark.parametrize("size", [-1, 1 << 63])
def test_a_size_that_no_computer_has_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=r"not a number of bytes|not a report"):
        read_runs(report(results=[{"size": size, "in_place": {}}]))


def test_a_file_without_a_table_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"run\.log: no table of nccl-tests in it; give what"):
        collected(tmp_path, "hello\n")
    with pytest.raises(SourceError, match="gone: No such file"):
        source.once(options("--file", str(tmp_path / "gone")), ListOutlet())


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("hello\n")
    (tmp_path / "b.log").write_text(NEW)
    outlet = ListOutlet()
    assert source.once(options("--file", str(tmp_path / "a.log"), "--file", str(tmp_path / "b.log")), outlet) == 1
    assert len(outlet.rejected) == 1


def test_served_files_are_told_once_with_a_beat_each(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text(NEW)
    words = [word for name in ("a.log", "b.log") for word in ("--file", str(tmp_path / name))]
    outlet = ListOutlet()
    asyncio.run(source.serve(options(*words), outlet))
    assert [(beat.ok, beat.messages, beat.bytes, beat.error) for beat in outlet.beats] == [
        (False, 0, 0, f"{tmp_path}/a.log: No such file or directory"),
        (True, 1, len(NEW.encode()), None),
    ]
    assert len(outlet.of(NCCL_WINDOWS)) == 1


def test_check_says_what_a_file_has_and_lacks(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text(NEW.replace("# Collective test starting: reduce_scatter_perf\n", ""))
    [sight] = source.check(options("--file", str(tmp_path / "b.log")))
    assert (sight.ok, sight.sees, sight.lacks) == (True, "1 runs, 4 results", "which collective it was")
    [gone] = source.check(options("--file", str(tmp_path / "gone")))
    assert (gone.ok, gone.advice) == (False, f"{tmp_path}/gone: No such file or directory")


def test_a_long_window_is_cut_into_pieces_that_add_up() -> None:
    whole = read_runs(NEW.encode()).runs[0]
    assert whole.rows
    window = CollectiveWindow(
        ts_us=1,
        job="j",
        node="n",
        comm="c",
        comm_size=5,
        rank=[0, 1, 2, 3, 4],
        seq=[9] * 5,
        coll=["AllReduce"] * 5,
        bytes=[1, 2, 3, 4, 5],
    )
    pieces = list(cut(window, rows=2))
    assert [piece.bytes for piece in pieces] == [[1, 2], [3, 4], [5]]
    assert [piece.exec_us for piece in pieces] == [[], [], []]
    assert [rank for piece in pieces for rank in piece.rank] == window.rank
    assert list(cut(window)) == [window]
