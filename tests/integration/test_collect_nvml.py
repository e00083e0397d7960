"""`lockstep collect nvml` with the real nvidia-ml-py over a compiled library of NVML's symbols and structures.

What the library answers is made up; the calls, the structures and the threads are the real ones.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.collectors.kubelet import kubelet, pod_list

SOURCE = Path(__file__).parent / "nvml_stub.c"
PROBE = """
import asyncio, sys
from collectors.gpu.serving import serve
from collectors.gpu.sweep import Names
from collectors.nvml.library import load_nvml
from collectors.nvml.reader import NvmlReader
from collectors.outlet import StdoutOutlet
names = Names(cluster="default", node="n1", collector="nvml@h", source="nvml")
lines = []
async def until_told():
    outlet = StdoutOutlet(lambda line: (lines.append(line), print(line.decode(), flush=True)), lambda text: None)
    serving = asyncio.create_task(serve(NvmlReader(load_nvml(), "n1"), outlet, names, timeout_s=1, interval_s=1))
    while not any(b"kernel.events" in line for line in lines):
        await asyncio.sleep(0.05)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
asyncio.run(until_told())
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        assert not os.environ.get("CI"), "no C compiler: infra/apt.txt names one"
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("nvml")
    built = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", built, SOURCE], check=True)
    return folder


def run(library: Path, *command: str, **told: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "LD_LIBRARY_PATH": str(library), "LOCKSTEP_NODE": "n1", **told}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=env, timeout=120, check=False)


def collect(library: Path, *options: str, **told: str) -> subprocess.CompletedProcess[str]:
    return run(library, "-m", "infra.command.main", "collect", "nvml", *options, **told)


def scrape(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    value: dict[str, Any] = json.loads(line)["value"]
    return value


def test_every_structure_is_read_where_its_number_stands(library: Path) -> None:
    found = scrape(collect(library, "--once", STUB_GPUS="2"))
    assert [(g["uuid"][-1], g["pci"], g["model"]) for g in found["gpus"]] == [
        ("0", "0000:18:00", "NVIDIA H200"),
        ("1", "0000:19:00", "NVIDIA H200"),
    ]
    first = {name: values[0] for name, values in found["columns"].items()}
    assert found["columns"]["155"] == [612.345, 612.346] and found["columns"]["156"] == [5e12, 5e12 + 1]
    wanted = {
        "150": 61, "153": -3, "140": 55, "157": 640.0, "100": 1980, "101": 3201, "112": 0x44, "203": 98, "204": 41,
        "250": 144384, "251": 40960, "252": 102400, "253": 1024, "240": 7e9, "241": 0, "310": 0, "311": 1, "312": 10,
        "313": 11, "393": 2, "394": 1, "395": 0, "396": 1, "385": 2558, "386": 2, "346": 1, "170": 3, "174": 0x55,
        "175": 1, "1523": 1, "1422": 11, "1212": 153, "66": 1, "67": 0, "300": 1, "1002": 0.02, "1004": 0.05,
        "1009": 20 * 1048576, "1011": 61 * 1048576,
    }  # fmt: skip
    assert {name: first.get(name) for name in wanted} == pytest.approx(wanted)
    assert "1008" not in first and "1423" not in first and found["errors"] == {}


def test_a_call_that_never_returns_costs_its_gpu_only_and_not_the_end_of_the_process(library: Path) -> None:
    done = collect(library, "--once", "--timeout", "1", STUB_GPUS="3", STUB_HANG="1")
    found = scrape(done)
    assert found["columns"]["155"] == [612.345, None, 612.347]
    assert "1 of 3 GPUs not read: GPU 1 (GPU-00000000-0000-0000-0000-000000000001): no answer" in done.stderr


def test_a_lost_gpu_is_a_row_with_its_reason(library: Path) -> None:
    done = collect(library, "--once", STUB_GPUS="2", STUB_LOST="1")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    scrapes = [line["value"] for line in lines if line["topic"] == "gpu.scrapes.v1"]
    assert (
        scrapes[0]["columns"]["155"] == [612.345, None]
        and "lost" in scrapes[0]["errors"][scrapes[0]["gpus"][1]["uuid"]]
    )
    assert [line["value"]["kind"] for line in lines if line["topic"] == "kernel.events.v1"] == ["gpu_lost"]


def test_a_pushed_xid_is_told_with_the_gpu_that_its_handle_names(library: Path) -> None:
    done = run(library, "-c", PROBE, STUB_GPUS="2", STUB_XID="79")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    (event,) = [line["value"] for line in lines if line["topic"] == "kernel.events.v1"]
    assert (event["kind"], event["code"], event["pci"], event["gpu_uuid"][-1]) == ("xid", 79, "0000:19:00", "1")


def test_a_check_ends_though_a_gpu_hangs(library: Path) -> None:
    done = run(library, "-m", "infra.command.main", "collect", "check", "nvml", STUB_GPUS="2")
    assert "driver 580.65.06, 2 GPUs" in done.stdout


def test_the_kubelet_and_a_prologs_files_name_who_holds_each_gpu(library: Path, tmp_path: Path) -> None:
    (tmp_path / "1").write_text("471108\n")
    holders = ("--pod-resources", str(tmp_path / "k.sock"), "--hpc-job-dir", str(tmp_path))

    async def answer(_: bytes) -> bytes:
        return pod_list(("ml", "bert-0", {"main": ["GPU-00000000-0000-0000-0000-000000000000"]}))

    async def collected() -> subprocess.CompletedProcess[str]:
        async with kubelet(tmp_path / "k.sock", answer):
            return await asyncio.to_thread(collect, library, "--once", *holders, STUB_GPUS="2")

    found = scrape(asyncio.run(collected()))
    assert [(g["namespace"], g["pod"], g["hpc_job"]) for g in found["gpus"]] == [
        ("ml", "bert-0", None),
        (None, None, "471108"),
    ]
    # The kubelet has gone: the GPUs come, and one line says why they have no pods.
    done = collect(library, "--once", *holders, STUB_GPUS="2")
    assert [g["pod"] for g in scrape(done)["gpus"]] == [None, None]
    assert [line for line in done.stderr.splitlines() if "k.sock" in line] == done.stderr.splitlines() != []
