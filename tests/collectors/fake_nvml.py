"""A driver that answers as it is told: the calls of `pynvml` over made-up GPUs, with its own structures and errors."""

# ruff: noqa: ARG002 (the arguments are those of the calls that are stood in for)

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, Queue
from types import SimpleNamespace
from typing import Any

import pynvml

GIB = 1 << 30

Reply = Any
"""A value as pynvml returns it, `Refuse(code)`, or a callable that makes one of these."""


@dataclass(frozen=True)
class Refuse:
    """NVML's return code instead of an answer."""

    code: int


def h200() -> dict[Any, Reply]:
    """What a busy, healthy GPU of Hopper's generation answers. Function, or function and arguments -> reply."""
    return {
        "nvmlDeviceGetTotalEnergyConsumption": 987_654_321_000,
        "nvmlDeviceGetPowerUsage": 612_345,
        "nvmlDeviceGetPowerManagementLimit": 700_000,
        "nvmlDeviceGetPowerManagementLimitConstraints": [200_000, 700_000],
        "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
        "nvmlDeviceGetEnforcedPowerLimit": 700_000,
        "nvmlDeviceGetTemperature": 61,
        "nvmlDeviceGetMarginTemperature": 26,
        ("nvmlDeviceGetTemperatureThreshold", 1): 87,
        ("nvmlDeviceGetClockInfo", 1): 1980,
        ("nvmlDeviceGetClockInfo", 2): 3201,
        ("nvmlDeviceGetMaxClockInfo", 1): 1980,
        ("nvmlDeviceGetMaxClockInfo", 2): 3201,
        "nvmlDeviceGetCurrentClocksEventReasons": 0x4,
        ("nvmlDeviceGetViolationStatus", 0): SimpleNamespace(referenceTime=1, violationTime=7_000_000_000),
        ("nvmlDeviceGetViolationStatus", 1): SimpleNamespace(referenceTime=1, violationTime=0),
        "nvmlDeviceGetPerformanceState": 0,
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=98, memory=41),
        "nvmlDeviceGetEncoderUtilization": [0, 100_000],
        ("nvmlDeviceGetMemoryInfo", 0x02000028): SimpleNamespace(
            total=141 * GIB, reserved=1 * GIB, free=40 * GIB, used=100 * GIB
        ),
        "nvmlDeviceGetPcieReplayCounter": 0,
        "nvmlDeviceGetMaxPcieLinkGeneration": 5,
        "nvmlDeviceGetMaxPcieLinkWidth": 16,
        "nvmlDeviceGetCurrPcieLinkGeneration": 5,
        "nvmlDeviceGetCurrPcieLinkWidth": 16,
        "nvmlDeviceGetPersistenceMode": 1,
        "nvmlDeviceGetMigMode": [0, 0],
        "nvmlDeviceGetEccMode": [1, 1],
        ("nvmlDeviceGetTotalEccErrors", 0, 0): 3,
        ("nvmlDeviceGetTotalEccErrors", 1, 0): 0,
        ("nvmlDeviceGetTotalEccErrors", 0, 1): 12,
        ("nvmlDeviceGetTotalEccErrors", 1, 1): 0,
        ("nvmlDeviceGetMemoryErrorCounter", 0, 0, 7): 2,
        ("nvmlDeviceGetMemoryErrorCounter", 0, 0, 2): 1,
        "nvmlDeviceGetRowRemapperHistogram": SimpleNamespace(max=2558, high=2, partial=0, low=0, none=0),
        "nvmlDeviceGetRemappedRows": (1, 2, 1, 0),
    }


FIELDS: dict[int, tuple[int, float]] = {
    82: (0, 55),
    186: (1, 640_000),
    38: (3, 0),
    59: (3, 4),
    173: (1, 9),
    230: (1, 0),
    74: (3, 7_000_000_000),
    269: (3, 11),
}
"""Field value -> its type and value. The memory temperature has a wrong type, as R545 gives it."""


@dataclass(eq=False)
class FakeGpu:
    """One GPU. `hold` is called before each answer: a test may block or fail in it."""

    index: int = 0
    name: str = "NVIDIA H200"
    uuid: str = ""
    answers: dict[Any, Reply] = field(default_factory=h200)
    fields: dict[int, tuple[int, float] | Refuse] = field(default_factory=lambda: dict(FIELDS))
    links: dict[tuple[int, int], int] = field(default_factory=dict)
    """(field value, link) -> count."""
    pids: list[int] = field(default_factory=list)
    instances: list["FakeGpu"] = field(default_factory=list)
    instance_ids: tuple[int, int] = (0, 0)
    handle: Reply = None
    """`Refuse`: not even a handle is given."""
    hold: Callable[[str], None] = lambda name: None
    gpm: dict[int, float] = field(default_factory=dict)
    """GPM metric -> value; empty: no GPM."""
    deaf: bool = False

    def __post_init__(self) -> None:
        self.uuid = self.uuid or f"GPU-00000000-0000-0000-0000-{self.index:012d}"

    @property
    def pci(self) -> str:
        return f"00000000:{0x18 + self.index:02X}:00.0"


class FakeNvml:
    """The module."""

    NVMLError = pynvml.NVMLError
    c_nvmlGpuFabricInfo_v3_t = pynvml.c_nvmlGpuFabricInfo_v3_t
    c_nvmlEccSramErrorStatus_v1_t = pynvml.c_nvmlEccSramErrorStatus_v1_t
    c_nvmlGpmMetricsGet_t = staticmethod(
        lambda: SimpleNamespace(metrics=[SimpleNamespace(nvmlReturn=0, value=0.0) for _ in range(40)])
    )

    def __init__(self, gpus: list[FakeGpu] | None = None, driver: str = "580.65.06") -> None:
        self.gpus = [FakeGpu()] if gpus is None else gpus
        self.driver = driver
        self.init: Reply = None
        self.opened = 0
        self.closed = 0
        self.asked: list[str] = []
        self.pushed: Queue[Any] = Queue()
        self.open_sets = 0

    def nvmlInit(self) -> None:
        self.opened += 1
        reply(self.init)

    def nvmlShutdown(self) -> None:
        self.closed += 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return self.driver

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        reply(self.gpus[index].handle)
        return self.gpus[index]

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:
        gpu.hold("nvmlDeviceGetUUID")
        return gpu.uuid

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> str:
        return gpu.name

    def nvmlDeviceGetPciInfo_v3(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(busId=gpu.pci.encode())

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: FakeGpu) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: FakeGpu, index: int) -> FakeGpu:
        if index >= len(gpu.instances):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return gpu.instances[index]

    def nvmlDeviceGetGpuInstanceId(self, gpu: FakeGpu) -> int:
        return gpu.instance_ids[0]

    def nvmlDeviceGetComputeInstanceId(self, gpu: FakeGpu) -> int:
        return gpu.instance_ids[1]

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: FakeGpu) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=None, gpuInstanceId=0xFFFFFFFF) for pid in gpu.pids]

    def nvmlDeviceGetFieldValues(self, gpu: FakeGpu, ids: list[Any]) -> Any:
        gpu.hold("nvmlDeviceGetFieldValues")
        values = (pynvml.c_nvmlFieldValue_t * len(ids))()
        for value, wanted in zip(values, ids, strict=True):
            number, link = wanted if isinstance(wanted, tuple) else (wanted, None)
            kind, said = self._field(gpu, number, link)
            value.fieldId, value.valueType = number, kind
            if isinstance(said, Refuse):
                value.nvmlReturn = said.code
            elif kind == 0:
                # A union: the low half is the number, whatever the type says.
                value.value.uiVal = int(said)
            else:
                value.value.ullVal = int(said)
        return values

    def _field(self, gpu: FakeGpu, number: int, link: int | None) -> tuple[int, Any]:
        if link is not None:
            count = gpu.links.get((number, link))
            return (3, Refuse(pynvml.NVML_ERROR_NOT_SUPPORTED) if count is None else count)
        if number == 91:
            return (1, 1 + max(link for _, link in gpu.links)) if gpu.links else (1, Refuse(3))
        found = gpu.fields.get(number, Refuse(pynvml.NVML_ERROR_NOT_SUPPORTED))
        return (1, found) if isinstance(found, Refuse) else found

    def nvmlEventSetCreate(self) -> list[FakeGpu]:
        self.open_sets += 1
        return []

    def nvmlEventSetFree(self, events: list[FakeGpu]) -> None:
        self.open_sets -= 1

    def nvmlDeviceRegisterEvents(self, gpu: FakeGpu, kinds: int, events: list[FakeGpu]) -> None:
        if gpu.deaf:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        events.append(gpu)

    def nvmlEventSetWait_v2(self, events: list[FakeGpu], timeout_ms: int) -> Any:
        try:
            got = self.pushed.get(timeout=0.02)
        except Empty:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_TIMEOUT) from None
        return reply(got)

    def push(self, gpu: FakeGpu, code: int, instance: int = 0xFFFFFFFF, compute: int = 0xFFFFFFFF) -> None:
        """An XID."""
        self.pushed.put(
            SimpleNamespace(device=gpu, eventType=8, eventData=code, gpuInstanceId=instance, computeInstanceId=compute)
        )

    def nvmlGpmQueryDeviceSupport(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(isSupportedDevice=int(bool(gpu.gpm)))

    def nvmlGpmSampleAlloc(self) -> Any:
        return SimpleNamespace(gpm={})

    def nvmlGpmSampleFree(self, sample: Any) -> None:
        return None

    def nvmlGpmSampleGet(self, gpu: FakeGpu, sample: Any) -> None:
        sample.gpm = dict(gpu.gpm)

    def nvmlGpmMigSampleGet(self, gpu: FakeGpu, instance: int, sample: Any) -> None:
        sample.gpm = next(dict(one.gpm) for one in gpu.instances if one.instance_ids[0] == instance)

    def nvmlGpmMetricsGet(self, asked: Any) -> Any:
        for answer in asked.metrics[: asked.numMetrics]:
            value = asked.sample2.gpm.get(answer.metricId)
            answer.nvmlReturn, answer.value = (0, value) if value is not None else (3, 0.0)
        return asked

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("nvmlDevice"):
            raise AttributeError(name)

        def call(gpu: FakeGpu, *args: Any) -> Any:
            self.asked.append(name)
            gpu.hold(name)
            missing = Refuse(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return reply(gpu.answers.get((name, *args), gpu.answers.get(name, missing)))

        return call


def reply(value: Reply) -> Any:
    """As NVML gives it."""
    if callable(value):
        value = value()
    if isinstance(value, Refuse):
        raise pynvml.NVMLError(value.code)
    return value
