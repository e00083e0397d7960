"""Whose the processes on this host's GPUs are, by the driver: DCGM does not tell which are there now."""

from collectors.gpu.reading import GpuTrouble
from collectors.gpu.usage import Owner
from collectors.nvml.library import load_nvml
from collectors.nvml.users import by_device, by_index


def owners_here() -> dict[tuple[str, str | None], list[Owner]]:
    """(UUID of the GPU, MIG instance on it) -> the owners that are told; nothing where NVML cannot be asked."""
    try:
        return by_device(load_nvml())
    except GpuTrouble:
        return {}


def busy_here() -> dict[int, list[Owner]] | None:
    """GPU index -> its owners; None: NVML cannot be asked."""
    try:
        return by_index(load_nvml())
    except GpuTrouble:
        return None
