"""Whose the processes on each GPU are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from collectors.gpu.usage import Owner, Owners
from collectors.nvml.library import Nvml, text

NO_INSTANCE = 0xFFFFFFFF
"""Of a process on a GPU without MIG (nvmlProcessInfo_t)."""


@dataclass(frozen=True, slots=True)
class GpuUsers:
    """One GPU's processes, by MIG instance; None: on the GPU as a whole."""

    index: int
    uuid: str
    pids: Mapping[str | None, list[int]]


def users(nvml: Nvml) -> list[GpuUsers] | None:
    """Of every GPU; None: NVML does not answer."""
    found: list[GpuUsers] = []
    try:
        nvml.nvmlInit()
    except (nvml.NVMLError, OSError):
        return None
    try:
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            pids: dict[str | None, list[int]] = {}
            for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle):
                instance = process.gpuInstanceId
                pids.setdefault(None if instance == NO_INSTANCE else str(instance), []).append(process.pid)
            found.append(GpuUsers(index, text(nvml.nvmlDeviceGetUUID(handle)), pids))
    except nvml.NVMLError:
        return None
    finally:
        nvml.nvmlShutdown()
    return found


def by_index(nvml: Nvml, owners: Callable[[], Owners] = Owners) -> dict[int, list[Owner]] | None:
    """GPU index -> its owners; `Owner()` where there is a process and its owner is not told."""
    found, known = users(nvml), owners()
    if found is None:
        return None
    pids = {one.index: [pid for those in one.pids.values() for pid in those] for one in found}
    return {index: (known.of(those) or [Owner()]) if those else [] for index, those in pids.items()}


def by_device(nvml: Nvml, owners: Callable[[], Owners] = Owners) -> dict[tuple[str, str | None], list[Owner]]:
    """(UUID of the GPU, MIG instance on it) -> the owners that are told; nothing where NVML does not answer."""
    known = owners()
    return {(one.uuid, instance): known.of(those) for one in users(nvml) or () for instance, those in one.pids.items()}
