"""A session with NVML: its GPUs, asked apart, and the events that the driver pushes."""

import contextlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Lock

from collectors.contract.gpu import Gpu
from collectors.gpu.reading import Fault, GpuSource, GpuTrouble, Part, Reading, Row
from collectors.gpu.usage import Owners
from collectors.nvml.device import Device, identify
from collectors.nvml.events import XidEvents
from collectors.nvml.library import ADVICE, GONE, GPU_IS_LOST, Nvml, code_of, text, words

MOST_GPUS = 256
IDLE_S = 0.2
CLOSE_S = 3.0
"""Longer than the listener waits for an event."""


class NvmlReader:
    """As in `GpuReader`. GPUs keep their last known name when they cannot say it any more."""

    source: GpuSource = "nvml"
    target = "nvml"
    keeps_time = False

    def __init__(
        self,
        nvml: Nvml,
        node: str,
        owners: Callable[[], Owners] = Owners,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        with_faults: bool = True,
    ) -> None:
        self._nvml = nvml
        self._node = node
        self._owners = owners
        self._now_us = now_us
        self._with_faults = with_faults
        self._listening = Lock()
        """Held while the event set is used: it must not be freed under a wait."""
        self._naming = Lock()
        """Around the GPUs that are known: each is added by its own thread."""
        self._closing = Event()
        self._open = False
        self._known: dict[int, Gpu] = {}
        self.devices: dict[int, Device] = {}
        self._events = XidEvents(nvml, now_us)

    def open(self) -> Mapping[str, Part]:
        """As in `GpuReader`: one part a GPU. What a GPU may hang in is left to its own part."""
        self.close()
        try:
            self._nvml.nvmlInit()
            self._open = True
            driver = text(self._nvml.nvmlSystemGetDriverVersion())
            count = min(self._nvml.nvmlDeviceGetCount(), MOST_GPUS)
        except self._nvml.NVMLError as why:
            self.close()
            raise GpuTrouble(said(code_of(why))) from why
        except OSError as why:
            raise GpuTrouble(f"NVML cannot be loaded: {why}") from why
        if not count:
            raise GpuTrouble("the driver is loaded and shows no GPU: look for its complaints in `dmesg`")
        owners = self._owners()
        return {
            f"gpu{index}": Part(
                lambda ts_us, index=index: self._read(index, driver, owners, ts_us),  # type: ignore[misc]
                lambda index=index: (self._name(index),),  # type: ignore[misc]
            )
            for index in range(count)
        }

    def _read(self, index: int, driver: str, owners: Owners, ts_us: int) -> Reading:
        """One GPU; its handle and its name are asked for first where they are not known yet."""
        device = self.devices.get(index)
        if device is None:
            try:
                handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
                gpu = identify(self._nvml, handle, index)
            except self._nvml.NVMLError as why:
                return _silent(self._name(index), code_of(why), ts_us)
            device = Device(self._nvml, handle, gpu, driver, branch_of(driver), owners)
            with self._naming:
                self._known[index] = gpu
                self.devices[index] = device
        return device.read(ts_us)

    def close(self) -> None:
        """As in `GpuReader`. Waits for the listener to leave NVML; where that hangs, NVML is left as it is."""
        self._closing.set()
        try:
            if not self._listening.acquire(timeout=CLOSE_S):
                return
            try:
                self._let_go()
            finally:
                self._listening.release()
        finally:
            self._closing.clear()

    def _let_go(self) -> None:
        with self._naming:
            devices, self.devices = self.devices, {}
        gone = contextlib.suppress(self._nvml.NVMLError)  # the driver took the session away: it is closed
        with gone:
            self._events.close()
        for device in devices.values():
            with gone:
                device.close()
        if self._open:
            self._open = False
            with gone:
                self._nvml.nvmlShutdown()

    def faults(self) -> Sequence[Fault]:
        """As in `GpuReader`: the XIDs that NVML's event set tells."""
        if not self._with_faults or self._closing.is_set():
            time.sleep(IDLE_S)
            return ()
        with self._listening:
            with self._naming:
                devices = tuple(self.devices.values())
            if devices:
                return self._events.wait(devices)
        # The sweep says why there is none.
        time.sleep(IDLE_S)
        return ()

    def _name(self, index: int) -> Gpu:
        return self._known.get(index) or Gpu(uuid=f"{self._node}/gpu{index}", index=index)


def said(code: int) -> str:
    """What a code means and what to do."""
    advice = ADVICE.get(code)
    return words(code) if advice is None else f"{words(code)}; {advice}"


def branch_of(driver: str) -> int:
    """`580.65.06` -> 580; 0 where the text is of another form."""
    found = re.match(r"\d+", driver)
    return 0 if found is None else int(found[0])


def _silent(gpu: Gpu, code: int, ts_us: int) -> Reading:
    """A GPU of which there is not even a handle."""
    row = Row(gpu=gpu, trouble=words(code), lost=code == GPU_IS_LOST)
    return Reading(moments={ts_us: [row]}, reopen=words(code) if code in GONE else None)
