"""`nvml` on a real GPU, where the machine has one: plausible readings at rest and under load, and a true XID."""

import ctypes
import os
import subprocess
import sys
import time

import pytest

from collectors.contract.gpu import GpuScrape
from collectors.contract.topics import GPU_SCRAPES
from collectors.gpu.reading import Fault
from collectors.gpu.serving import once
from collectors.gpu.sweep import Names
from collectors.nvml.checks import sights
from collectors.nvml.library import load_nvml
from collectors.nvml.reader import NvmlReader
from tests.collectors.list_outlet import ListOutlet

NAMES = Names(cluster="default", node="here", collector="nvml@here", source="nvml")

LOAD = """
import time, torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
print("loaded", flush=True)
while True:
    for _ in range(50):
        a @ a
    torch.cuda.synchronize()
"""
# A kernel that writes to an address which is not mapped: the driver tells XID 31.
FAULT = r"""
import ctypes
PTX = b'''.version 7.0
.target sm_70
.address_size 64
.visible .entry bad() { .reg .u64 %a; .reg .u32 %v; mov.u64 %a, 0x10; mov.u32 %v, 1; st.global.u32 [%a], %v; ret; }
'''
cuda = ctypes.CDLL("libcuda.so.1")
device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0
assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"bad") == 0
assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
print(cuda.cuCtxSynchronize())
"""


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    nvml = load_nvml()
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as why:
        pytest.skip(f"no GPU here: {why}")
    nvml.nvmlShutdown()


def scrape() -> GpuScrape:
    outlet = ListOutlet()
    once(NvmlReader(load_nvml(), "here"), outlet, NAMES, 30.0)
    found: list[GpuScrape] = outlet.of(GPU_SCRAPES)
    return found[0]


def cell(found: GpuScrape, field: str) -> float:
    value = found.columns[field][0]
    assert value is not None, f"field {field}"
    return value


def test_a_gpu_at_rest_reads_plausibly() -> None:
    first, second = scrape(), scrape()
    assert first.gpus[0].uuid.startswith("GPU-") and first.gpus[0].pci is not None and len(first.gpus[0].pci) == 10
    assert 5 < cell(first, "155") < 2500 and 5 < cell(first, "150") < 120
    assert cell(second, "156") >= cell(first, "156") > 0
    assert 0 < cell(first, "100") <= cell(first, "113") < 5000
    assert cell(first, "250") == pytest.approx(
        cell(first, "251") + cell(first, "252") + cell(first, "253"), abs=2 + 0.02 * cell(first, "250")
    )
    assert first.errors == {}


def test_a_check_of_a_real_gpu_ends_and_names_it() -> None:
    found = sights(load_nvml())
    assert any("GPU-" in sight.sees for sight in found)


def test_load_shows_as_use_power_and_energy() -> None:
    pytest.importorskip("torch")
    idle = scrape()
    with subprocess.Popen([sys.executable, "-c", LOAD], stdout=subprocess.PIPE, text=True) as load:
        try:
            assert load.stdout is not None and load.stdout.readline() == "loaded\n"
            # The driver averages use over up to a second; clocks and power need longer.
            end = time.monotonic() + 30
            busy = scrape()
            while cell(busy, "203") <= 90 and time.monotonic() < end:
                busy = scrape()
            assert cell(busy, "203") > 90 and cell(busy, "155") > 1.3 * cell(idle, "155")
            assert cell(busy, "156") > cell(idle, "156") and cell(busy, "252") > cell(idle, "252")
            if "1002" in busy.columns:
                assert 0.5 < cell(busy, "1002") <= 1.01 and 0.3 < cell(busy, "1004") <= 1.01
        finally:
            load.kill()


def test_a_program_that_writes_where_nothing_is_mapped_is_told_as_xid_31() -> None:
    if not os.path.exists("/dev/nvidia0"):  # noqa: PTH110
        pytest.skip("no device file: events may not be had here")
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as why:
        pytest.skip(str(why))
    reader = NvmlReader(load_nvml(), "here")
    for part in reader.open().values():
        part.ask(1)
    reader.faults()
    done = subprocess.run([sys.executable, "-c", FAULT], capture_output=True, text=True, timeout=60, check=False)
    told: list[Fault] = []
    end = time.monotonic() + 20
    while not told and time.monotonic() < end:
        told = list(reader.faults())
    reader.close()
    assert [fault.code for fault in told][:1] == [31], done.stdout + done.stderr
    assert told[0].gpu is not None and told[0].gpu.uuid.startswith("GPU-")
