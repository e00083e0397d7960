"""NVML as `nvidia-ml-py` shows it, and what its return codes mean."""

import ctypes
from typing import Any, Protocol, cast

from collectors.gpu.reading import GpuTrouble

Handle = Any
"""What NVML hands out for a device; means nothing outside it."""

UNINITIALIZED, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 1, 3, 4, 6
DRIVER_NOT_LOADED, TIMEOUT, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND = 9, 10, 12, 13
GPU_IS_LOST, RESET_REQUIRED, VERSION_MISMATCH, VERSION_OF_ARGUMENT = 15, 16, 18, 25
DEPRECATED, NOT_READY = 26, 27

ABSENT = frozenset({NOT_SUPPORTED, NOT_FOUND, FUNCTION_NOT_FOUND, VERSION_OF_ARGUMENT, DEPRECATED, 22})
"""The GPU or the driver does not have it (22: no ECC under a vGPU): no reading failed."""
GONE = frozenset({UNINITIALIZED, DRIVER_NOT_LOADED, VERSION_MISMATCH})
"""Nothing more comes through this session; it must be opened anew."""
WHOLE = frozenset({*GONE, GPU_IS_LOST, RESET_REQUIRED})
"""Said of the GPU, not of one reading: the rest need not be asked."""

WORDS = {
    UNINITIALIZED: "the driver was unloaded, or NVML was shut down",
    2: "NVML refuses the question",
    NOT_SUPPORTED: "not supported",
    NO_PERMISSION: "no permission",
    NOT_FOUND: "not found",
    7: "the answer is too large",
    8: "the GPU has not enough external power",
    DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    TIMEOUT: "NVML timed out",
    11: "the kernel reports an interrupt problem of the GPU",
    LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 is not there",
    FUNCTION_NOT_FOUND: "this driver has no such question",
    14: "the InfoROM is corrupted",
    GPU_IS_LOST: "the GPU is lost: it has fallen off the bus or cannot be reached",
    RESET_REQUIRED: "the GPU needs a reset before it can be used",
    17: "blocked by the operating system",
    VERSION_MISMATCH: "the driver was replaced: its library and its kernel module differ",
    19: "in use",
    20: "NVML has too little memory",
    21: "no data",
    NOT_READY: "not ready",
    999: "unknown error",
}
ADVICE = {
    LIBRARY_NOT_FOUND: "install the NVIDIA driver; in a container, run it with the NVIDIA runtime and "
    "NVIDIA_DRIVER_CAPABILITIES=utility",
    DRIVER_NOT_LOADED: "load it: `modprobe nvidia`, and look for its complaint in `dmesg`",
    NO_PERMISSION: "run the collector as root or in the group that may open /dev/nvidia*",
    VERSION_MISMATCH: "reboot, or reload the kernel module, and start the collector anew",
    UNINITIALIZED: "load the driver again, and start the collector anew if it does not come back",
}


def words(code: int) -> str:
    """What a return code means."""
    return WORDS.get(code, f"NVML error {code}")


class NvmlFailure(Protocol):
    """`pynvml.NVMLError`."""

    value: int


class Nvml(Protocol):
    """What is used of the module `pynvml`, beside the questions of `questions.py`."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlSystemGetDriverVersion(self) -> str: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Handle: ...
    def nvmlDeviceGetUUID(self, handle: Handle) -> str: ...
    def nvmlDeviceGetName(self, handle: Handle) -> str: ...
    def nvmlDeviceGetPciInfo_v3(self, handle: Handle) -> Any: ...
    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Handle) -> int: ...
    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Handle, index: int) -> Handle: ...
    def nvmlDeviceGetGpuInstanceId(self, handle: Handle) -> int: ...
    def nvmlDeviceGetComputeInstanceId(self, handle: Handle) -> int: ...
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Handle) -> list[Any]: ...
    def nvmlDeviceGetFieldValues(self, handle: Handle, fields: list[Any]) -> Any: ...
    def nvmlDeviceGetSramEccErrorStatus(self, handle: Handle, status: Any) -> int: ...
    def nvmlDeviceGetGpuFabricInfoV(self, handle: Handle, info: Any) -> int: ...
    def nvmlEventSetCreate(self) -> Any: ...
    def nvmlDeviceRegisterEvents(self, handle: Handle, kinds: int, events: Any) -> None: ...
    def nvmlEventSetWait_v2(self, events: Any, timeout_ms: int) -> Any: ...
    def nvmlEventSetFree(self, events: Any) -> None: ...
    def nvmlGpmQueryDeviceSupport(self, handle: Handle) -> Any: ...
    def nvmlGpmSampleAlloc(self) -> Any: ...
    def nvmlGpmSampleFree(self, sample: Any) -> None: ...
    def nvmlGpmSampleGet(self, handle: Handle, sample: Any) -> Any: ...
    def nvmlGpmMigSampleGet(self, handle: Handle, instance: int, sample: Any) -> Any: ...
    def nvmlGpmMetricsGet(self, metrics: Any) -> Any: ...
    def c_nvmlGpmMetricsGet_t(self) -> Any: ...
    def c_nvmlEccSramErrorStatus_v1_t(self) -> Any: ...
    def c_nvmlGpuFabricInfo_v3_t(self) -> Any: ...


def load_nvml() -> Nvml:
    """The module. Raises `GpuTrouble`."""
    try:
        import pynvml
    except ImportError as why:
        raise GpuTrouble("the package nvidia-ml-py is not installed: pip install nvidia-ml-py") from why
    return cast(Nvml, pynvml)


def code_of(why: Exception) -> int:
    """The return code of an `NVMLError`."""
    return int(cast(NvmlFailure, why).value)


def text(value: "str | bytes") -> str:
    """NVML's texts, which come as either."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def same_device(handle: Handle) -> Any:
    """What is equal for two handles of one device: the address that a pointer holds, else the handle itself."""
    if isinstance(handle, ctypes._Pointer):
        return ctypes.cast(handle, ctypes.c_void_p).value
    return handle
