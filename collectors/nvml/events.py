"""XIDs as NVML pushes them: none is lost between two sweeps, as the gauge of the last code loses them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from collectors.contract.gpu import Gpu
from collectors.gpu.reading import Fault, GpuTrouble
from collectors.nvml.library import ABSENT, TIMEOUT, Nvml, code_of, same_device, words

if TYPE_CHECKING:
    from collectors.nvml.device import Device

XID = 0x8
"""nvmlEventTypeXidCriticalError"""
NO_INSTANCE = 0xFFFFFFFF
WAIT_MS = 1000
DETAIL = "told by NVML's event set"


class XidEvents:
    """An event set over all GPUs, made anew when it breaks or the GPUs change. For one thread, save `close`."""

    def __init__(self, nvml: Nvml, now_us: Callable[[], int]) -> None:
        self._nvml = nvml
        self._now_us = now_us
        self._set: Any = None
        self._gpus: dict[Any, Gpu] = {}
        self._devices: Sequence[Device] = ()

    def wait(self, devices: "Sequence[Device]") -> list[Fault]:
        """Up to a second. The time is that of hearing: NVML tells none. Raises `GpuTrouble`."""
        try:
            if self._set is None or [*self._devices] != [*devices]:
                self._register(devices)
            data = self._nvml.nvmlEventSetWait_v2(self._set, WAIT_MS)
        except self._nvml.NVMLError as why:
            code = code_of(why)
            if code == TIMEOUT:
                return []
            self.close()
            raise GpuTrouble(f"XIDs are not heard: {words(code)}") from why
        if not data.eventType & XID:
            return []
        return [
            Fault(
                ts_us=self._now_us(),
                code=int(data.eventData),
                gpu=self._gpus.get(same_device(data.device)),
                mig=_mig(data.gpuInstanceId, data.computeInstanceId),
                detail=DETAIL,
            )
        ]

    def close(self) -> None:
        """Free the set."""
        events, self._set, self._devices = self._set, None, ()
        if events is not None:
            self._nvml.nvmlEventSetFree(events)

    def _register(self, devices: "Sequence[Device]") -> None:
        self.close()
        events = self._nvml.nvmlEventSetCreate()
        gpus: dict[Any, Gpu] = {}
        refused: list[str] = []
        for device in devices:
            try:
                self._nvml.nvmlDeviceRegisterEvents(device.handle, XID, events)
            except self._nvml.NVMLError as why:
                code = code_of(why)
                refused.append(f"{device.gpu.uuid}: {'it has no such events' if code in ABSENT else words(code)}")
                continue
            gpus[same_device(device.handle)] = device.gpu
        if not gpus:
            self._nvml.nvmlEventSetFree(events)
            raise GpuTrouble(f"XIDs are not heard: {'; '.join(refused)}")
        self._set, self._gpus, self._devices = events, gpus, tuple(devices)


def _mig(gpu_instance: int, compute_instance: int) -> str | None:
    parts = [str(part) for part in (gpu_instance, compute_instance) if part != NO_INSTANCE]
    return "/".join(parts) or None
