"""A sweep over eight GPUs by NVML, CPU-milliseconds, beside the bare questions to the same library in the same run.

The library is the compiled stand-in of the tests: its answers cost next to nothing, so what shows is ours and
nvidia-ml-py's. On a host the driver's own time comes on top, for both.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "integration" / "nvml_stub.c"
MODULE = "tests.bench.nvml_bench"
GPUS = 8
SWEEPS = 100


def main(argv: Sequence[str] = ()) -> None:
    """Builds the library and measures in a process that finds it."""
    compiler = shutil.which("cc")
    if compiler is None:
        print("no C compiler: nothing to measure with")
        return
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "libnvidia-ml.so.1"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", built, SOURCE], check=True)
        env = {**os.environ, "LD_LIBRARY_PATH": folder, "STUB_GPUS": str(GPUS), "LOCKSTEP_NODE": "n1"}
        subprocess.run([sys.executable, "-c", f"from {MODULE} import measure; measure()"], env=env, check=True)


def measure() -> None:
    """CPU time of sweeps and of the bare questions."""
    bare_ms = per_sweep_ms(bare_sweeps)
    whole_ms = per_sweep_ms(lambda: asyncio.run(sweeps()))
    print(
        f"{GPUS} GPUs: a sweep {whole_ms:.1f} CPU-ms, the bare questions {bare_ms:.1f}, ratio {whole_ms / bare_ms:.2f}"
    )
    print(f"at 15 s between sweeps: {whole_ms / 15_000:.2%} of a core")


def per_sweep_ms(work: Callable[[], None]) -> float:
    """CPU-milliseconds of the whole process."""
    began = time.process_time()
    work()
    return (time.process_time() - began) / SWEEPS * 1e3


def bare_sweeps() -> None:
    """Every question to every GPU, one after the other, and nothing made of the answers."""
    from collectors.nvml.interview import Interview
    from collectors.nvml.library import load_nvml

    nvml = load_nvml()
    nvml.nvmlInit()
    asked = [Interview(nvml, nvml.nvmlDeviceGetHandleByIndex(index), 580) for index in range(GPUS)]
    for _ in range(SWEEPS):
        for one in asked:
            one.ask(0.0)
    nvml.nvmlShutdown()


async def sweeps() -> None:
    """As `lockstep collect nvml` does them, up to the outlet."""
    from collectors.gpu.sweep import GpuSweep, Names
    from collectors.nvml.library import load_nvml
    from collectors.nvml.reader import NvmlReader
    from collectors.outlet import StdoutOutlet

    outlet = StdoutOutlet(lambda line: None, print)
    names = Names(cluster="default", node="n1", collector="nvml@h", source="nvml")
    sweep = GpuSweep(NvmlReader(load_nvml(), "n1"), outlet, names, timeout_s=10, interval_s=15)
    for _ in range(SWEEPS):
        await sweep.run()
    await sweep.close()


if __name__ == "__main__":
    main()
