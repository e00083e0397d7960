"""One GPU by NVML: who it is, its MIG instances, and a reading of all."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from collectors.contract.gpu import Gpu
from collectors.dcgm.labels import pci_of
from collectors.gpu.reading import Reading, Row
from collectors.gpu.usage import Owners, used_by
from collectors.nvml.columns import needs_reset, values_of
from collectors.nvml.gpm import Gpm
from collectors.nvml.interview import Asked, Interview
from collectors.nvml.library import GONE, GPU_IS_LOST, RESET_REQUIRED, Handle, Nvml, code_of, same_device, text, words
from collectors.nvml.questions import MEMORY

MOST_INSTANCES = 16


def identify(nvml: Nvml, handle: Handle, index: int) -> Gpu:
    """Raises `NVMLError`."""
    pci = nvml.nvmlDeviceGetPciInfo_v3(handle)
    return Gpu(
        uuid=text(nvml.nvmlDeviceGetUUID(handle)),
        index=index,
        model=text(nvml.nvmlDeviceGetName(handle)),
        pci=pci_of(text(pci.busId)),
    )


@dataclass(slots=True)
class Instance:
    """A MIG device as it stands now."""

    gpu: Gpu
    handle: Handle
    interview: Interview
    gpm: Gpm


@dataclass(slots=True, eq=False)
class Device:
    """A GPU of an open session. Read by one thread at a time."""

    nvml: Nvml
    handle: Handle
    gpu: Gpu
    driver: str
    branch: int
    owners: Owners
    clock_s: Callable[[], float] = time.monotonic
    interview: Interview = field(init=False)
    gpm: Gpm = field(init=False)
    instances: dict[str, Instance] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.interview = Interview(self.nvml, self.handle, self.branch)
        self.gpm = Gpm(self.nvml, self.handle)

    def read(self, ts_us: int) -> Reading:
        """The GPU's row and those of its instances. Raises nothing of NVML's: its errors are data."""
        asked = self.interview.ask(self.clock_s())
        rows: list[Row] = []
        ended = asked.ended
        if ended is None:
            try:
                rows = [self._row(self.gpu, self.handle, asked, self.gpm)]
                if rows[0].values.get("67") == 1:
                    rows += self._instance_rows()
            except self.nvml.NVMLError as why:
                ended = code_of(why)
        if ended is not None:
            # What was answered before it went is no reading of this moment any more.
            rows = [Row(gpu=self.gpu, trouble=words(ended), lost=ended == GPU_IS_LOST)]
        return Reading(
            moments={ts_us: rows},
            labels={"driver_version": self.driver},
            reopen=words(ended) if ended in GONE else None,
        )

    def close(self) -> None:
        """Free what NVML allocated."""
        for gpm in [self.gpm, *(instance.gpm for instance in self.instances.values())]:
            gpm.close()

    def _row(self, gpu: Gpu, handle: Handle, asked: Asked, gpm: Gpm) -> Row:
        values, errors = values_of(asked)
        busy, why = gpm.read()
        errors |= dict.fromkeys(busy, why) if why is not None else {}
        return Row(
            gpu=used_by(gpu, self.owners.of(self._pids(handle))),
            values=values | busy,
            errors=errors,
            trouble=words(RESET_REQUIRED) if needs_reset(asked) else None,
        )

    def _pids(self, handle: Handle) -> Sequence[int]:
        try:
            return [process.pid for process in self.nvml.nvmlDeviceGetComputeRunningProcesses(handle)]
        except self.nvml.NVMLError:  # who uses it is not told: the readings are right without
            return []

    def _instance_rows(self) -> list[Row]:
        found = {instance.gpu.mig or "": instance for instance in self._found()}
        for name in self.instances.keys() - found.keys():
            self.instances.pop(name).gpm.close()
        self.instances = found
        rows: list[Row] = []
        for one in found.values():
            asked = one.interview.ask(self.clock_s())
            if asked.ended is not None:
                rows.append(Row(gpu=one.gpu, trouble=words(asked.ended), lost=asked.ended == GPU_IS_LOST))
            else:
                rows.append(self._row(one.gpu, one.handle, asked, one.gpm))
        return rows

    def _found(self) -> list[Instance]:
        """The MIG devices now; those that were there before keep their samples."""
        out: list[Instance] = []
        try:
            most = min(self.nvml.nvmlDeviceGetMaxMigDeviceCount(self.handle), MOST_INSTANCES)
        except self.nvml.NVMLError:
            return out
        for index in range(most):
            try:
                handle = self.nvml.nvmlDeviceGetMigDeviceHandleByIndex(self.handle, index)
                gi = self.nvml.nvmlDeviceGetGpuInstanceId(handle)
                name = f"{_profile(text(self.nvml.nvmlDeviceGetName(handle)))}/{gi}"
                if any(one.gpu.mig == name for one in out):
                    # Several compute instances share this GPU instance.
                    name += f"/{self.nvml.nvmlDeviceGetComputeInstanceId(handle)}"
            except self.nvml.NVMLError:  # no instance at this index
                continue
            known = self.instances.get(name)
            if known is None or same_device(known.handle) != same_device(handle):
                known = self._instance(handle, gi, name)
            out.append(known)
        return out

    def _instance(self, handle: Handle, gi: int, name: str) -> Instance:
        before = self.instances.pop(name, None)
        gpm = before.gpm if before is not None else Gpm(self.nvml, self.handle, gi)
        gpu = replace(self.gpu, mig=name, mig_uuid=self._uuid(handle))
        return Instance(gpu, handle, Interview(self.nvml, handle, self.branch, MEMORY, (), links=False), gpm)

    def _uuid(self, handle: Handle) -> str | None:
        try:
            return text(self.nvml.nvmlDeviceGetUUID(handle))
        except self.nvml.NVMLError:  # its readings are right without
            return None


def _profile(name: str) -> str:
    """`NVIDIA A100-SXM4-40GB MIG 1g.5gb` -> `1g.5gb`."""
    return name.rpartition("MIG ")[2].strip()
