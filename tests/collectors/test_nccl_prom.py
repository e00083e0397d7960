"""The Inspector's Prometheus mode, and what a look at a folder finds."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.job import CollectiveWindow
from collectors.contract.topics import NCCL_WINDOWS
from collectors.nccl import source
from collectors.nccl.folder import QUIET_US, Folder
from collectors.nccl.look import look
from collectors.nccl.prom import Page, gpu_of, page_windows, read_page
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.test_nccl_record import line, lost_line
from tests.collectors.test_nccl_source import options

NAME = "nccl_inspector_metrics_0123456789abcdef0123456789abcdef.prom"
UUID = "GPU-01234567-89ab-cdef-0123-456789abcdef"
WHO = 'version="v5.1",slurm_job_id="77",node="gpu-1",gpu="GPU0"'
COLL = (
    f'{{{WHO},comm_name="DP Group 0",n_nodes="2",nranks="16",collective="AllReduce",message_size="4-5GB",'
    'algo_proto="Ring_ll"}'
)
SMALL = COLL.replace("4-5GB", "1-2MB")
SEND = f'{{{WHO},comm_name="unknown",n_nodes="1",nranks="4",p2p_operation="Send",message_size="512-513MB"}}'
PAGE = f"""\
nccl_bus_bandwidth_gbs{COLL} 678.263
nccl_collective_exec_time_microseconds{COLL} 5663.5
nccl_bus_bandwidth_gbs{SMALL} 0
nccl_collective_exec_time_microseconds{SMALL} 12
nccl_p2p_bus_bandwidth_gbs{SEND} 45.5
nccl_p2p_exec_time_microseconds{SEND} 1154.87
nccl_collectives_total{{{WHO}}} 2250
nccl_p2p_dropped_total{{{WHO}}} 0
"""


def windows(text: str) -> list[CollectiveWindow]:
    page = read_page(text, ts_us=5, gpu_uuid=UUID)
    assert page.bad == []
    return list(page_windows(page, cluster="c", job="j", node="here"))


def test_means_of_one_gpu_are_rows_without_a_rank() -> None:
    group, pair = windows(PAGE)
    assert (group.source, group.node, group.gpu_uuid) == ("nccl-inspector-prom", "gpu-1", UUID)
    assert (group.comm, group.comm_name, group.comm_size, group.comm_nodes) == ("", "DP Group 0", 16, 2)
    assert (group.rank, group.seq, group.coll) == ([None, None], [None, None], ["AllReduce", "AllReduce"])
    assert (group.busbw_gbs, group.exec_us) == ([678.263, None], [5663.5, 12.0])
    assert (group.size_class, group.algo) == (["4-5GB", "1-2MB"], ["Ring_ll", "Ring_ll"])
    assert (pair.coll, pair.comm_name, pair.exec_us) == (["Send"], None, [1154.87])


def test_half_a_line_at_the_end_waits() -> None:
    [group] = windows(PAGE[: PAGE.index("5663.5") + 3])
    assert (group.busbw_gbs, group.exec_us) == ([678.263], [None])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "not NAME{LABELS} VALUE"),
        (f"node_load1{COLL} 1", "node_load1 is not of the Inspector"),
        (f"nccl_bus_bandwidth_gbs{COLL} NaN", "a value of NaN"),
        (f"nccl_bus_bandwidth_gbs{COLL} -1", "a value of -1"),
        (f"nccl_bus_bandwidth_gbs{COLL} x", "could not convert string to float: 'x'"),
        (f"nccl_bus_bandwidth_gbs{{{WHO}}} 1", "neither collective nor p2p_operation"),
    ],
)
def test_a_line_that_is_none_of_its_own_is_told(text: str, why: str) -> None:
    page = read_page(text + "\n", ts_us=1, gpu_uuid=None)
    assert page.means == {}
    [(number, raw, said)] = page.bad
    assert (number, raw) == (1, text)
    assert why in said


@pytest.mark.parametrize(
    ("name", "uuid"),
    [
        (NAME, UUID),
        ("nccl_inspector_metrics_01234567-89ab-cdef-0123-456789abcdef.prom", UUID),
        ("nccl_inspector_metrics_x.prom", None),
        ("node.prom", None),
    ],
)
def test_the_file_is_named_for_its_gpu(name: str, uuid: str | None) -> None:
    assert gpu_of(name) == uuid


def pages(folder: Folder, *, to_end: bool = False) -> list[Page]:
    return [one for found in folder.read(to_end=to_end) for one in found if isinstance(one, Page)]


def test_a_page_is_read_when_it_is_quiet_and_again_when_it_is_new(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text(PAGE)
    os.utime(path, ns=(0, 5_000_000_000))
    now_us = [5_000_000 + QUIET_US - 1]
    folder = Folder(tmp_path, now_us=lambda: now_us[0])
    assert pages(folder) == []
    now_us[0] += 1
    [page] = pages(folder)
    assert (page.ts_us, page.gpu_uuid, page.job) == (5_000_000, UUID, "77")
    assert pages(folder) == []
    os.utime(path, ns=(0, 5_500_000_000))
    now_us[0] = 9_000_000
    assert len(pages(folder)) == 1
    path.unlink()
    assert pages(folder) == []


def test_both_modes_of_a_folder_are_read_once(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(PAGE + "junk\n")
    (tmp_path / "gpu-1-pid410.log").write_text(json.dumps(line()) + "\n")
    outlet = ListOutlet()
    assert source.once(options("--dir", str(tmp_path), "--job", "j"), outlet) == 3
    assert sorted(window.source for window in outlet.of(NCCL_WINDOWS)) == [
        "nccl-inspector",
        "nccl-inspector-prom",
        "nccl-inspector-prom",
    ]
    assert [why for _, _, why in outlet.rejected] == [f"{tmp_path / NAME}:9: not NAME{{LABELS}} VALUE"]


def seen(folder: Path, *lines: dict[str, Any], age_s: float = 0) -> list[tuple[bool, str, str]]:
    folder.mkdir(exist_ok=True)
    path = folder / "gpu-1-pid410.log"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    found = look(folder, now_s=path.stat().st_mtime + age_s)
    return [(sight.ok, sight.sees, sight.lacks) for sight in found]


def test_a_folder_in_order_is_one_line(tmp_path: Path) -> None:
    assert seen(tmp_path / "a", line()) == [(True, "1 files of processes, 0 of Prometheus mode", "")]


def test_a_look_names_every_lack(tmp_path: Path) -> None:
    by_cpu = line(coll_perf__coll_timing_source="collective_cpu")
    found = seen(tmp_path / "a", by_cpu, lost_line(5, 0), age_s=1200)
    assert [(ok, sees) for ok, sees, _ in found] == [
        (True, "1 files of processes, 0 of Prometheus mode"),
        (False, "nothing new for 20 minutes"),
        (False, "5 operations lost by the plug-in"),
        (False, "times taken by the CPU"),
    ]


def test_prometheus_mode_alone_cannot_tell_who_was_late(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(PAGE)
    first, second = look(tmp_path)
    assert (first.ok, second.ok, second.advice) == (True, False, "NCCL_INSPECTOR_PROM_DUMP=0 writes JSON")


def test_an_empty_folder_says_what_to_switch_on(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "x"):
        [sight] = source.check(options("--dir", str(folder), "--job", "j"))
        assert not sight.ok
        assert f"NCCL_INSPECTOR_DUMP_DIR={folder}" in sight.advice
