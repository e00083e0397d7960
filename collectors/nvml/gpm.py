"""How busy the parts of a GPU were between two sweeps (Hopper and later). NVML's GPM: percent and MiB/s."""

import math
from typing import Any

from collectors.nvml.interview import ENDS
from collectors.nvml.library import ABSENT, Handle, Nvml, code_of, words

PERCENT, MIB_PER_S = 0.01, float(1 << 20)
METRICS: dict[int, tuple[str, float]] = {
    1: ("1001", PERCENT),
    2: ("1002", PERCENT),
    3: ("1003", PERCENT),
    5: ("1004", PERCENT),
    10: ("1005", PERCENT),
    11: ("1006", PERCENT),
    12: ("1007", PERCENT),
    13: ("1008", PERCENT),
    20: ("1009", MIB_PER_S),
    21: ("1010", MIB_PER_S),
    61: ("1011", MIB_PER_S),
    60: ("1012", MIB_PER_S),
    9: ("1013", PERCENT),
    7: ("1014", PERCENT),
    6: ("1015", PERCENT),
    4: ("1016", PERCENT),
}
"""NVML_GPM_METRIC_* -> DCGM field and factor: DCGM, dcgmlib/src/DcgmGpmManager.cpp."""
ONLY_GPU = frozenset({20, 21, 60, 61})
"""PCIe and NVLink belong to the whole GPU, not to an instance of it."""
VERSION = 1


class Gpm:
    """Two samples of one GPU or MIG instance in turn. The first reading has nothing to compare with."""

    def __init__(self, nvml: Nvml, gpu: Handle, instance: int | None = None) -> None:
        """`gpu`: the whole GPU's handle; `instance`: the id of a GPU instance of it."""
        self._nvml = nvml
        self._gpu = gpu
        self._instance = instance
        self._wanted = [m for m in METRICS if instance is None or m not in ONLY_GPU]
        self._samples: list[Any] = []
        self._filled = 0
        self._dead: str | None = None
        """Why there is none: empty where the GPU has no GPM."""

    def read(self) -> tuple[dict[str, float | None], str | None]:
        """(field -> value since the last reading, why it cannot be read). A GPU without GPM gives neither."""
        if self._dead is not None:
            return {}, self._dead or None
        try:
            if not self._samples:
                self._dead = None if self._begin() else ""
            if self._dead is not None:
                return {}, None
            return self._next(), None
        except self._nvml.NVMLError as why:
            code = code_of(why)
            if code in ENDS:
                raise
            self._filled = 0
            if code in ABSENT:
                self._dead = ""
                return {}, None
            return {METRICS[m][0]: None for m in self._wanted}, words(code)
        except AttributeError:  # an nvidia-ml-py that does not know GPM
            self._dead = ""
            return {}, None

    def close(self) -> None:
        """Free the samples."""
        for sample in self._samples:
            self._nvml.nvmlGpmSampleFree(sample)
        self._samples = []
        self._filled = 0

    def _begin(self) -> bool:
        if not self._nvml.nvmlGpmQueryDeviceSupport(self._gpu).isSupportedDevice:
            return False
        while len(self._samples) < 2:
            self._samples.append(self._nvml.nvmlGpmSampleAlloc())
        return True

    def _next(self) -> dict[str, float | None]:
        old, new = self._samples
        if self._instance is None:
            self._nvml.nvmlGpmSampleGet(self._gpu, new)
        else:
            self._nvml.nvmlGpmMigSampleGet(self._gpu, self._instance, new)
        self._samples = [new, old]
        self._filled += 1
        return self._compare(old, new) if self._filled > 1 else {}

    def _compare(self, old: Any, new: Any) -> dict[str, float | None]:
        asked = self._nvml.c_nvmlGpmMetricsGet_t()
        asked.version, asked.numMetrics = VERSION, len(self._wanted)
        asked.sample1, asked.sample2 = old, new
        for at, metric in enumerate(self._wanted):
            asked.metrics[at].metricId = metric
        got = self._nvml.nvmlGpmMetricsGet(asked)
        out: dict[str, float | None] = {}
        for at, metric in enumerate(self._wanted):
            name, factor = METRICS[metric]
            answer = got.metrics[at]
            if answer.nvmlReturn == 0:
                out[name] = None if math.isnan(answer.value) else answer.value * factor
            elif answer.nvmlReturn not in ABSENT:
                out[name] = None
        return out
