"""Whose the processes on each GPU are, asked once."""

from collections.abc import Callable

from collectors.gpu.usage import Owner, Owners
from collectors.nvml.library import Nvml


def users(nvml: Nvml, owners: Callable[[], Owners] = Owners) -> dict[int, list[Owner]] | None:
    """GPU index -> an owner for each process, one that is not told as `Owner()`; None: NVML does not answer."""
    found: dict[int, list[Owner]] = {}
    known = owners()
    try:
        nvml.nvmlInit()
    except (nvml.NVMLError, OSError):
        return None
    try:
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            pids = [process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]
            found[index] = (known.of(pids) or [Owner()]) if pids else []
    except nvml.NVMLError:
        return None
    finally:
        nvml.nvmlShutdown()
    return found
