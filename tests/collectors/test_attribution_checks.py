"""A check of who tells of the holders: what is missing, and files of jobs that are likely gone."""

import argparse
import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from collectors.attribution.checks import folder_sights, jobs_here, kubelet_sights, sights
from collectors.attribution.options import add_holders
from collectors.attribution.pod_resources import ListResponse, read_answer
from collectors.dcgm_engine import source as dcgm_engine
from collectors.gpu.usage import Owner, Owners
from collectors.nvml.users import by_device, by_index
from collectors.source import Sight, SourceError
from tests.collectors.fake_nvml import FakeGpu, FakeNvml, Refuse
from tests.collectors.kubelet import kubelet, pod_list

HOUR_US = 3_600_000_000


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_holders(parser)
    return parser.parse_args(words)


def looked(
    folder: Path,
    *,
    age_us: int = HOUR_US,
    booted_us: int = 0,
    busy: Mapping[int, list[Owner]] | None = None,
    running: frozenset[str] = frozenset(),
) -> list[Sight]:
    """At a folder whose files are so old."""
    now_us = (folder / "0").stat().st_mtime_ns // 1000 + age_us
    return list(folder_sights(folder, booted_us, now_us, lambda: busy, lambda: set(running)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0").write_text("7\n")
    return tmp_path


def test_files_are_counted_with_their_jobs(folder: Path) -> None:
    (folder / "1").write_text("7\n8\n")
    (folder / "2").write_text("")
    assert looked(folder, age_us=0) == [Sight(str(folder), True, "3 files, 2 jobs")]


def test_a_file_of_before_the_boot_is_stale(folder: Path) -> None:
    written_us = (folder / "0").stat().st_mtime_ns // 1000
    _, sight = looked(folder, booted_us=written_us + HOUR_US)
    assert (sight.target, sight.ok, "before the boot" in sight.lacks, "squeue" in sight.advice) == (
        str(folder / "0"),
        False,
        True,
        True,
    )


def test_a_file_of_a_job_that_runs_nothing_for_long_is_likely_stale(folder: Path) -> None:
    assert "after 1.0 h" in looked(folder, busy={0: []})[1].lacks
    assert "after 1.0 h" in looked(folder, running=frozenset({"8"}))[1].lacks


@pytest.mark.parametrize(
    "more",
    [
        {"busy": {0: []}, "age_us": 60_000_000},
        {"busy": {0: []}, "running": frozenset({"7"})},
        {"busy": {0: [Owner()]}},
        {"busy": None},
    ],
    ids=["new", "its processes run", "somebody's process runs", "nothing is known"],
)
def test_a_file_that_may_be_true_is_left_alone(folder: Path, more: dict[str, Any]) -> None:
    assert len(looked(folder, **more)) == 1


def test_a_file_that_another_jobs_process_belies_is_told(folder: Path) -> None:
    _, sight = looked(folder, busy={0: [Owner(hpc_job="9")]})
    assert "job 9 runs on this GPU" in sight.lacks


def test_a_file_of_garbage_and_a_folder_that_is_not_there_are_lines(folder: Path) -> None:
    (folder / "1").write_bytes(b"\xff")
    assert looked(folder, age_us=0)[0].lacks == f"{folder}/1: no text"
    (sight,) = folder_sights(folder / "none", 0, 0, lambda: None, set)
    assert (sight.ok, "No such file" in sight.lacks) == (False, True)


def test_the_kubelets_answer_is_summed_up() -> None:
    raw = pod_list(("a", "one", {"x": ["GPU-a", "GPU-b"]}), ("b", "two", {"y": []}))
    assert list(kubelet_sights("s", read_answer(raw))) == [Sight("s", True, "2 pods; 2 GPUs held by 1 of them")]


def test_two_pods_on_a_gpu_that_is_not_shared_are_told() -> None:
    raw = pod_list(("a", "one", {"x": ["GPU-a"]}), ("a", "two", {"x": ["GPU-a"]}))
    _, sight = kubelet_sights("s", read_answer(raw))
    assert (sight.target, sight.sees) == ("GPU-a", "held by a/one, a/two")
    shared = pod_list(("a", "one", {"x": ["GPU-a::0"]}), ("a", "two", {"x": ["GPU-a::1"]}))
    assert len(list(kubelet_sights("s", read_answer(shared)))) == 1


def test_claims_are_told_as_what_is_not_seen() -> None:
    answer = ListResponse()
    answer.pods.add(name=b"p").containers.add(name=b"c", dynamic_resources=[b"x"])
    _, sight = kubelet_sights("s", read_answer(answer.SerializeToString()))
    assert (sight.ok, "claims name no UUID" in sight.lacks) == (False, True)


def test_only_what_the_options_name_is_looked_at(folder: Path) -> None:
    assert sights(options()) == []
    assert [sight.target for sight in sights(options("--hpc-job-dir", str(folder)))] == [str(folder)]
    (sight,) = sights(options("--pod-resources", str(folder / "none.sock")))
    assert (sight.ok, "no such socket" in sight.lacks) == (False, True)


def test_a_kubelet_that_runs_is_seen(tmp_path: Path) -> None:
    async def answer(_: bytes) -> bytes:
        return pod_list(("a", "one", {"x": ["GPU-a"]}))

    async def story() -> list[Sight]:
        path = tmp_path / "k.sock"
        async with kubelet(path, answer):
            return await asyncio.to_thread(sights, options("--pod-resources", str(path)))

    (sight,) = asyncio.run(story())
    assert (sight.ok, sight.sees) == (True, "1 pods; 1 GPUs held by 1 of them")


def test_slurms_jobs_are_found_by_the_processes_of_the_node(tmp_path: Path) -> None:
    for name in ("1", "22", "self"):
        (tmp_path / name).mkdir()

    def read(pid: int) -> str:
        if pid == 1:
            raise ProcessLookupError
        return "0::/system.slice/slurmstepd.scope/job_7/step_0\n"

    assert jobs_here(tmp_path, read) == {"7"}


def test_the_users_of_each_gpu_are_those_of_its_processes() -> None:
    nvml = FakeNvml([FakeGpu(pids=[10]), FakeGpu(index=1), FakeGpu(index=2, pids=[11])])
    known = {10: "0::/system.slice/slurmstepd.scope/job_7/step_0\n", 11: "0::/init.scope\n"}

    def owners() -> Owners:
        return Owners(lambda pid: known[pid], ours=lambda: True)

    assert by_index(nvml, owners) == {0: [Owner(hpc_job="7")], 1: [], 2: [Owner()]}
    assert by_device(nvml, owners) == {
        (nvml.gpus[0].uuid, None): [Owner(hpc_job="7")],
        (nvml.gpus[2].uuid, None): [],
    }
    assert (nvml.opened, nvml.closed) == (2, 2)
    silent = FakeNvml([FakeGpu(handle=Refuse(15))])
    assert (by_index(silent), by_device(silent)) == (None, {})


def test_holders_of_another_hosts_gpus_are_refused() -> None:
    args = options("--pod-resources")
    near = SimpleNamespace(**vars(args), address="localhost:5555")
    far = SimpleNamespace(**vars(args), address="gpu-7:5555")
    dcgm_engine.refuse_far_holders(near)  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="those GPUs are another's"):
        dcgm_engine.refuse_far_holders(far)  # type: ignore[arg-type]
