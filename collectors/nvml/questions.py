"""What is asked of each GPU, and which DCGM fields the answers are.

Pairs of question and field: NVIDIA DCGM, dcgmlib/src/DcgmCacheManager.cpp. Ids of NVML's field values: nvml.h of
R580, by way of nvidia-ml-py.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.nvml.library import Handle, Nvml

MIB = 1 << 20
LINK_COUNT = 91
"""NVML_FI_DEV_NVLINK_LINK_COUNT"""
NEW_THROTTLE_IDS = 580
"""First driver branch whose ids 269 to 271 are the throttle times: R570 had them at 251 to 253, which then became
power smoothing (nvml.h of both)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One number of an answer: the DCGM field that it is, and what to multiply it by. `whole`: cut to an integer."""

    field: str
    factor: float = 1.0
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """`ask` returns numbers, or None for one that was refused apart, parallel to `answers`."""

    name: str
    ask: Callable[[Nvml, Handle], Sequence[float]]
    answers: tuple[Answer, ...]
    instead_of: str | None = None
    """Asked only where the driver has not that one."""


@dataclass(frozen=True, slots=True)
class FieldValue:
    """One of NVML's field values; all are asked for at once."""

    id: int
    answer: Answer
    unsigned_32: bool = False
    """The low half is the number, whatever type is told (DCGM: R545 tells a wrong one for the memory temperature)."""
    since: int = 0
    """The first driver branch that has it under this id."""


def _call(name: str, *args: Any) -> Callable[[Nvml, Handle], Any]:
    return lambda nvml, handle: getattr(nvml, name)(handle, *args)


def _one(name: str, answer: str, *args: Any, factor: float = 1.0, instead_of: str | None = None) -> Question:
    call = _call(name, *args)
    shown = name + (f"({', '.join(map(str, args))})" if args else "")
    return Question(shown, lambda nvml, handle: (call(nvml, handle),), (Answer(answer, factor),), instead_of)


def _list(name: str, answers: Sequence[str], *args: Any, factor: float = 1.0) -> Question:
    call, count = _call(name, *args), len(answers)
    return Question(
        name, lambda nvml, handle: tuple(call(nvml, handle))[:count], tuple(Answer(a, factor) for a in answers)
    )


def _struct(
    name: str, parts: Sequence[tuple[str, Answer]], *args: Any, instead_of: str | None = None, shown: str | None = None
) -> Question:
    call = _call(name, *args)

    def ask(nvml: Nvml, handle: Handle) -> Sequence[float]:
        got = call(nvml, handle)
        return tuple(getattr(got, part) for part, _ in parts)

    return Question(shown or name, ask, tuple(answer for _, answer in parts), instead_of)


def _sram(nvml: Nvml, handle: Handle) -> Sequence[float]:
    status = nvml.c_nvmlEccSramErrorStatus_v1_t()
    nvml.nvmlDeviceGetSramEccErrorStatus(handle, ctypes.byref(status))
    return (status.bThresholdExceeded,)


FABRIC_DONE, FABRIC_FAILED = 3, 4


def _fabric(nvml: Nvml, handle: Handle) -> Sequence[float]:
    """DCGM's state tells a start-up that ended badly apart; NVML has a status beside the state."""
    info = nvml.c_nvmlGpuFabricInfo_v3_t()
    nvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
    state = FABRIC_FAILED if info.state == FABRIC_DONE and info.status != 0 else info.state
    return (state, info.status, info.healthMask, info.healthSummary)


def _retired(cause: int, answer: str) -> Question:
    call = _call("nvmlDeviceGetRetiredPages", cause)
    return Question(
        f"nvmlDeviceGetRetiredPages({cause})", lambda nvml, handle: (len(call(nvml, handle)),), (Answer(answer),)
    )


def _memory(fields: Sequence[tuple[str, str]], *args: Any, **more: Any) -> Question:
    parts = [(part, Answer(name, 1 / MIB, whole=True)) for part, name in fields]
    return _struct("nvmlDeviceGetMemoryInfo", parts, *args, **more)


MEMORY_V2 = 0x02000028
"""nvmlMemory_v2: the structure's size and version."""
MEMORY = (
    _memory((("total", "250"), ("free", "251"), ("used", "252"), ("reserved", "253")), MEMORY_V2),
    _memory(
        (("total", "250"), ("free", "251"), ("used", "252")),
        instead_of="nvmlDeviceGetMemoryInfo",
        shown="nvmlDeviceGetMemoryInfo(v1)",
    ),
)
"""Also of a MIG instance."""

_PLACES = ((0, "L1", 314), (1, "L2", 316), (2, "DEV", 318), (3, "REG", 320), (4, "TEX", 322))
_MORE_PLACES = ((5, 334, 338), (6, 336, 340), (7, 342, 344))
"""Shared memory, CBU, SRAM."""


def _places() -> list[Question]:
    out = []
    for place, _, first in _PLACES:
        for kind in (0, 1):
            for life in (0, 1):
                field_id = str(first + kind + 10 * life)
                out.append(_one("nvmlDeviceGetMemoryErrorCounter", field_id, kind, life, place))
    for place, volatile, aggregate in _MORE_PLACES:
        for kind in (0, 1):
            out.append(_one("nvmlDeviceGetMemoryErrorCounter", str(volatile + kind), kind, 0, place))
            out.append(_one("nvmlDeviceGetMemoryErrorCounter", str(aggregate + kind), kind, 1, place))
    return out


_VIOLATIONS = {0: "240", 1: "241", 2: "242", 3: "243", 4: "244", 5: "245", 10: "246", 11: "247"}

QUESTIONS: tuple[Question, ...] = (
    # The energy first: a GPU that answers it is on the bus.
    _one("nvmlDeviceGetTotalEnergyConsumption", "156"),
    _one("nvmlDeviceGetPowerUsage", "155", factor=1e-3),
    _one("nvmlDeviceGetPowerManagementLimit", "160", factor=1e-3),
    _list("nvmlDeviceGetPowerManagementLimitConstraints", ("161", "162"), factor=1e-3),
    _one("nvmlDeviceGetPowerManagementDefaultLimit", "163", factor=1e-3),
    _one("nvmlDeviceGetEnforcedPowerLimit", "164", factor=1e-3),
    _one("nvmlDeviceGetTemperature", "150", 0),
    _one("nvmlDeviceGetMarginTemperature", "153"),
    *(
        _one("nvmlDeviceGetTemperatureThreshold", f, kind)
        for kind, f in ((3, "152"), (2, "151"), (1, "158"), (0, "159"))
    ),
    *(_one("nvmlDeviceGetClockInfo", f, kind) for kind, f in ((1, "100"), (2, "101"), (3, "102"))),
    *(_one("nvmlDeviceGetApplicationsClock", f, kind) for kind, f in ((0, "110"), (2, "111"))),
    *(_one("nvmlDeviceGetMaxClockInfo", f, kind) for kind, f in ((1, "113"), (2, "114"))),
    _one("nvmlDeviceGetCurrentClocksEventReasons", "112"),
    _one("nvmlDeviceGetCurrentClocksThrottleReasons", "112", instead_of="nvmlDeviceGetCurrentClocksEventReasons"),
    *(
        _struct(
            "nvmlDeviceGetViolationStatus",
            (("violationTime", Answer(f)),),
            p,
            shown=f"nvmlDeviceGetViolationStatus({p})",
        )
        for p, f in _VIOLATIONS.items()
    ),
    _one("nvmlDeviceGetPerformanceState", "190"),
    _struct("nvmlDeviceGetUtilizationRates", (("gpu", Answer("203")), ("memory", Answer("204")))),
    _list("nvmlDeviceGetEncoderUtilization", ("206",)),
    _list("nvmlDeviceGetDecoderUtilization", ("207",)),
    *MEMORY,
    _one("nvmlDeviceGetPcieReplayCounter", "202"),
    _one("nvmlDeviceGetMaxPcieLinkGeneration", "235"),
    _one("nvmlDeviceGetMaxPcieLinkWidth", "236"),
    _one("nvmlDeviceGetCurrPcieLinkGeneration", "237"),
    _one("nvmlDeviceGetCurrPcieLinkWidth", "238"),
    _one("nvmlDeviceGetPersistenceMode", "66"),
    _list("nvmlDeviceGetMigMode", ("67",)),
    _list("nvmlDeviceGetEccMode", ("300", "301")),
    *(
        _one("nvmlDeviceGetTotalEccErrors", f, kind, life)
        for f, kind, life in (("310", 0, 0), ("311", 1, 0), ("312", 0, 1), ("313", 1, 1))
    ),
    *_places(),
    Question("nvmlDeviceGetSramEccErrorStatus", _sram, (Answer("346"),)),
    _struct(
        "nvmlDeviceGetRowRemapperHistogram",
        tuple((part, Answer(str(385 + at))) for at, part in enumerate(("max", "high", "partial", "low", "none"))),
    ),
    _list("nvmlDeviceGetRemappedRows", ("394", "393", "396", "395")),
    _retired(0, "390"),
    _retired(1, "391"),
    _one("nvmlDeviceGetRetiredPagesPendingStatus", "392"),
    _one("nvmlDeviceGetUnrepairableMemoryFlag_v1", "1507"),
    Question("nvmlDeviceGetGpuFabricInfoV", _fabric, tuple(map(Answer, ("170", "171", "174", "175")))),
)

FIELD_VALUES: tuple[FieldValue, ...] = (
    FieldValue(82, Answer("140"), unsigned_32=True),
    FieldValue(186, Answer("157", 1e-3)),
    FieldValue(38, Answer("409")),
    FieldValue(45, Answer("419")),
    FieldValue(52, Answer("429")),
    FieldValue(59, Answer("439")),
    FieldValue(160, Answer("1220")),
    FieldValue(173, Answer("1501")),
    FieldValue(230, Answer("1523"), since=560),
    FieldValue(74, Answer("1420")),
    FieldValue(76, Answer("1421")),
    FieldValue(269, Answer("1422"), since=NEW_THROTTLE_IDS),
    FieldValue(270, Answer("1423"), since=NEW_THROTTLE_IDS),
    FieldValue(271, Answer("1424"), since=NEW_THROTTLE_IDS),
    FieldValue(231, Answer("1400")),
    FieldValue(232, Answer("1401")),
    FieldValue(233, Answer("1402")),
)

LINK_VALUES: dict[int, str] = {
    201: "1200",
    202: "1201",
    203: "1202",
    204: "1203",
    206: "1204",
    207: "1205",
    208: "1206",
    209: "1207",
    210: "1208",
    211: "1209",
    212: "1210",
    213: "1211",
    214: "1212",
    215: "1213",
    221: "1214",
    219: "1219",
}
"""NVLink 5 counts by link: their sums are the GPU's fields."""
