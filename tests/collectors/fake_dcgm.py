"""DCGM's Python modules as far as they are used, over a made-up engine.

The structures have the layout of dcgm_structs.py, and values go through a real C callback as in the bindings, so
that what is read from them is read as on a host. What an engine does with them is made up.
"""

# ruff: noqa: ARG002 (the arguments are those of the calls that are stood in for)

import ctypes
from collections.abc import Callable
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    Union,
    c_byte,
    c_char,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_short,
    c_uint,
    c_uint32,
    c_ushort,
    c_void_p,
)
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from collectors.dcgm_engine.bindings import Bindings

INT64_BLANK = 0x7FFFFFFFFFFFFFF0
FP64_BLANK = 140737488355328.0
STATUS_WORDS = {-21: "Host engine connection invalid/disconnected", -18: "GPU is lost", -33: "Profiling not supported"}


class DCGMError(Exception):
    """As in dcgm_structs: `value` is the dcgmReturn_t."""

    def __init__(self, value: int) -> None:
        super().__init__(STATUS_WORDS.get(value, f"DCGM error {value}"))
        self.value = value


class Value(Union):
    _fields_ = (("i64", c_int64), ("dbl", c_double), ("str", c_char * 256), ("blob", c_byte * 4096))


class FieldValue(Structure):
    """c_dcgmFieldValue_v1"""

    _fields_ = (
        ("version", c_uint),
        ("fieldId", c_ushort),
        ("fieldType", c_short),
        ("status", c_int),
        ("ts", c_int64),
        ("value", Value),
    )


class Pair(Structure):
    """c_dcgmGroupEntityPair_t"""

    _fields_ = (("entityGroupId", c_int32), ("entityId", c_uint32))


class MigInfo(Structure):
    """c_dcgmMigEntityInfo_t"""

    _fields_ = (
        ("gpuUuid", c_char * 128),
        ("nvmlGpuIndex", c_uint),
        ("nvmlInstanceId", c_uint),
        ("nvmlComputeInstanceId", c_uint),
        ("nvmlMigProfileId", c_uint),
        ("nvmlProfileSlices", c_uint),
    )


class MigEntry(Structure):
    """c_dcgmMigHierarchyInfo_v2"""

    _fields_ = (("entity", Pair), ("parent", Pair), ("info", MigInfo))


class Hierarchy(Structure):
    """c_dcgmMigHierarchy_v2"""

    _fields_ = (("version", c_uint), ("count", c_uint), ("entityList", MigEntry * 448))


Enumeration = CFUNCTYPE(c_int32, c_uint32, c_uint32, POINTER(FieldValue), c_int32, c_void_p)


@dataclass
class Kept:
    """One value that the engine keeps."""

    entity: tuple[int, int]
    field: int
    kind: str
    ts_us: int
    value: float
    status: int = 0


@dataclass
class FakeEngine:
    """An engine, its GPUs and what it has sampled."""

    gpus: int = 2
    samples: list[Kept] = field(default_factory=list)
    instances: dict[int, tuple[int, int, str]] = field(default_factory=dict)
    """GPU instance's entity id -> GPU, number on it, profile."""
    statuses: dict[int, int] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    """Fields that this version does not know."""
    refused: set[int] = field(default_factory=set)
    """Fields whose watch is refused."""
    fail: int = 0
    """What every call but the connecting ones fails with."""
    refuse: int = 0
    """What connecting fails with."""
    hold: Callable[[], None] = lambda: None
    connected: list[Any] = field(default_factory=list)
    closed: int = 0
    watched: dict[str, tuple[list[int], float]] = field(default_factory=dict)
    grouped: list[tuple[int, int]] = field(default_factory=list)
    groups: dict[str, list[int]] = field(default_factory=dict)

    def sample(self, entity: tuple[int, int], number: int, ts_us: int, value: float, status: int = 0) -> None:
        """Keep a value; a float is one of DCGM's doubles."""
        self.samples.append(Kept(entity, number, "d" if isinstance(value, float) else "i", ts_us, value, status))

    def bindings(self) -> Bindings:
        """The modules."""
        return Bindings(
            pydcgm=SimpleNamespace(DcgmHandle=self._handle),
            agent=_Agent(self),
            structs=SimpleNamespace(
                DCGMError=DCGMError,
                DCGM_OPERATION_MODE_AUTO=1,
                DCGM_GROUP_EMPTY=1,
                _dcgmInit=lambda path: None,
                c_dcgmGroupEntityPair_t=Pair,
            ),
            fields=SimpleNamespace(DcgmFieldGetById=lambda number: None if number in self.unknown else number),
        )

    def _handle(self, ipAddress: Any = None, unixSocketPath: Any = None, opMode: int = 1, timeoutMs: int = 0) -> Any:
        if self.refuse:
            raise DCGMError(self.refuse)
        self.connected.append(ipAddress or unixSocketPath or "embedded")

        def shut_down() -> None:
            self.closed += 1

        return SimpleNamespace(handle=c_void_p(len(self.connected)), Shutdown=shut_down)


class _Agent:
    """dcgm_agent"""

    dcgmFieldValueEntityEnumeration_f = Enumeration

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine

    def _go(self) -> FakeEngine:
        self.engine.hold()
        if self.engine.fail:
            raise DCGMError(self.engine.fail)
        return self.engine

    def dcgmInit(self) -> int:
        return 0

    def dcgmGetAllDevices(self, handle: Any) -> list[int]:
        return list(range(self._go().gpus))

    def dcgmGetDeviceAttributes(self, handle: Any, gpu: int) -> Any:
        if self._go().statuses.get(gpu) == 4:
            raise DCGMError(-18)
        return SimpleNamespace(
            identifiers=SimpleNamespace(
                uuid=f"GPU-00000000-0000-0000-0000-{gpu:012d}".encode(),
                deviceName=b"NVIDIA H100 80GB HBM3",
                pciBusId=f"00000000:{0x1A + gpu:02X}:00.0".encode(),
                driverVersion=b"550.54.15",
            )
        )

    def dcgmGetGpuStatus(self, handle: Any, gpu: int) -> int:
        return self._go().statuses.get(gpu, 1)

    def dcgmGetGpuInstanceHierarchy(self, handle: Any) -> Hierarchy:
        out = Hierarchy()
        for at, (entity, (gpu, number, profile)) in enumerate(self._go().instances.items()):
            one = out.entityList[at]
            one.entity.entityGroupId, one.entity.entityId = 4, entity
            one.parent.entityGroupId, one.parent.entityId = 1, gpu
            one.info.nvmlInstanceId, one.info.nvmlProfileSlices = number, int(profile[0])
            out.count = at + 1
        return out

    def dcgmEntitiesGetLatestValues(self, handle: Any, pairs: list[Any], fields: list[int], flags: int) -> list[Any]:
        out = []
        for pair in pairs:
            _, number, profile = self._go().instances[pair.entityId]
            told = {50: f"NVIDIA H100 80GB HBM3 MIG {profile}", 54: f"MIG-{pair.entityId}-{number}"}
            for number_of in fields:
                value = SimpleNamespace(entityGroupId=pair.entityGroupId, entityId=pair.entityId, status=0)
                value.fieldId, value.value = number_of, Value()
                value.value.str = told[number_of].encode()
                out.append(value)
        return out

    def dcgmGroupCreate(self, handle: Any, kind: int, name: str) -> str:
        self._go()
        return name

    def dcgmGroupAddEntity(self, handle: Any, group: str, entity_group: int, entity: int) -> int:
        if entity_group == 1 and self._go().statuses.get(entity) == 4:
            raise DCGMError(-18)
        self.engine.grouped.append((entity_group, entity))
        return 0

    def dcgmFieldGroupCreate(self, handle: Any, fields: list[int], name: str) -> str:
        if self._go().unknown & set(fields):
            raise DCGMError(-13)
        self.engine.groups[name] = list(fields)
        return name

    def dcgmWatchFields(self, handle: Any, group: str, fields: str, every_us: int, keep_s: float, keep: int) -> int:
        wanted = self._go().groups[fields]
        if self.engine.refused & set(wanted):
            raise DCGMError(-33)
        self.engine.watched[fields.rpartition("-")[2]] = wanted, every_us / 1e6
        return 0

    def dcgmUpdateAllFields(self, handle: Any, wait: int) -> int:
        self._go()
        return 0

    def dcgmGetValuesSince_v2(self, handle: Any, group: str, fields: str, since: int, callback: Any, data: Any) -> int:
        wanted, newest = set(self._go().groups[fields]), since - 1
        by_entity: dict[tuple[int, int], list[Kept]] = {}
        for one in self.engine.samples:
            if one.field in wanted and one.ts_us >= since:
                by_entity.setdefault(one.entity, []).append(one)
                newest = max(newest, one.ts_us)
        for entity, kept in by_entity.items():
            raw = (FieldValue * len(kept))()
            for value, one in zip(raw, kept, strict=True):
                value.fieldId, value.fieldType, value.status, value.ts = one.field, ord(one.kind), one.status, one.ts_us
                if one.kind == "d":
                    value.value.dbl = one.value
                else:
                    value.value.i64 = int(one.value)
            callback(*entity, raw, len(kept), ctypes.c_void_p())
        return newest + 1
