"""A connection to an engine: who is there, what is watched, what came since."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from collectors.contract.gpu import Gpu
from collectors.dcgm.labels import pci_of
from collectors.dcgm_engine.bindings import Bindings
from collectors.dcgm_engine.samples import DOUBLE, GPU, GPU_INSTANCE, INTEGER, TIMESTAMP, Entity, Sample
from collectors.dcgm_engine.watched import Watch

LIVE = 1
"""DCGM_FV_FLAG_LIVE_DATA"""
NAME, UUID = 50, 54
GONE = {2: "DCGM does not support it", 3: "DCGM cannot reach it", 4: "lost", 6: "disabled", 7: "detached"}
"""dcgmGpuStatus: what is no GPU at work (DcgmEntityStatus, dcgm_structs.h)."""
LOST = 4
CONNECT_MS = 5000
KEEP_S = 120.0


@dataclass(frozen=True, slots=True)
class Where:
    """The engine: `address` as HOST[:PORT], or a socket's path; neither: one in this process."""

    address: str | None = None
    socket: str | None = None

    @property
    def words(self) -> str:
        """For beats and messages."""
        return self.address or (f"unix:{self.socket}" if self.socket else "embedded")


@dataclass(slots=True)
class _Watched:
    watch: Watch
    group: Any
    since_us: int


@dataclass(slots=True)
class Session:
    """Open from its making to `close`. A connection is not for two threads at once."""

    dcgm: Bindings
    handle: Any
    gpus: dict[Entity, Gpu]
    driver: str
    group: Any
    watched: list[_Watched] = field(default_factory=list)
    lacks: dict[str, str] = field(default_factory=dict)
    """Watch -> why DCGM refuses it."""

    def since(self, name: str) -> list[Sample]:
        """What came in one watch since the last call. Raises `DCGMError`."""
        out: list[Sample] = []
        for one in self.watched:
            if one.watch.name == name:
                one.since_us = self._collect(one, out)
        return out

    def names(self, *, event: bool) -> list[str]:
        """The watches that DCGM took."""
        return [one.watch.name for one in self.watched if one.watch.event == event]

    def sick(self) -> dict[Entity, tuple[str, bool]]:
        """GPUs that are not at work: why, and whether they are lost. Raises `DCGMError`."""
        out: dict[Entity, tuple[str, bool]] = {}
        for entity in self.gpus:
            if entity[0] == GPU:
                status = int(self.dcgm.agent.dcgmGetGpuStatus(self.handle.handle, entity[1]))
                if status in GONE:
                    out[entity] = GONE[status], status == LOST
        return out

    def instances(self) -> dict[Entity, tuple[Entity, int, int]]:
        """MIG instances: entity -> its GPU, its number on it, its slices."""
        return _instances(self.dcgm, self.handle.handle)

    def close(self) -> None:
        """End the connection; the engine drops its watches."""
        with contextlib.suppress(self.dcgm.structs.DCGMError):  # it was gone already
            self.handle.Shutdown()

    def _collect(self, one: _Watched, out: list[Sample]) -> int:
        def take(entity_group: int, entity: int, values: Any, count: int, _: Any) -> int:
            for at in range(count):
                sample = sample_of((entity_group, entity), values[at])
                if sample is not None:
                    out.append(sample)
            return 0

        agent = self.dcgm.agent
        callback = agent.dcgmFieldValueEntityEnumeration_f(take)
        return int(agent.dcgmGetValuesSince_v2(self.handle.handle, self.group, one.group, one.since_us, callback, None))


def open_session(
    dcgm: Bindings,
    where: Where,
    library: str | None,
    node: str,
    wanted: Sequence[Watch],
    now_us: int,
    keep_s: float = KEEP_S,
) -> Session:
    """Connect, or start an engine that polls by itself, and watch. Raises `DCGMError`.

    `keep_s`: how long the engine keeps a sample; a sweep that comes later than that misses some.
    """
    dcgm.structs._dcgmInit(library)
    dcgm.agent.dcgmInit()
    handle = dcgm.pydcgm.DcgmHandle(
        ipAddress=where.address,
        unixSocketPath=where.socket,
        opMode=dcgm.structs.DCGM_OPERATION_MODE_AUTO,
        timeoutMs=CONNECT_MS,
    )
    # Names of groups are one for all clients of an engine.
    name = f"lockstep-{os.getpid()}-{now_us}"
    try:
        gpus, driver = _gpus(dcgm, handle.handle, node)
        group = dcgm.agent.dcgmGroupCreate(handle.handle, dcgm.structs.DCGM_GROUP_EMPTY, name)
        session = Session(dcgm, handle, gpus, driver, group)
        for entity in gpus:
            # A GPU that is lost or detached is refused (DcgmGroupManager.cpp); its status says why.
            with contextlib.suppress(dcgm.structs.DCGMError):
                dcgm.agent.dcgmGroupAddEntity(handle.handle, group, *entity)
        for watch in wanted:
            _watch(session, watch, name, now_us, keep_s)
        dcgm.agent.dcgmUpdateAllFields(handle.handle, 1)
    except dcgm.structs.DCGMError:
        with contextlib.suppress(dcgm.structs.DCGMError):
            handle.Shutdown()
        raise
    return session


def _watch(session: Session, watch: Watch, name: str, now_us: int, keep_s: float) -> None:
    """One that DCGM refuses costs no other."""
    dcgm, handle = session.dcgm, session.handle.handle
    # A field that this version does not know would have the whole group refused.
    known = [number for number in watch.fields if dcgm.fields.DcgmFieldGetById(number) is not None]
    if not known:
        session.lacks[watch.name] = "this DCGM knows none of its fields"
        return
    keep_s = max(keep_s, 4 * watch.every_s)
    try:
        fields = dcgm.agent.dcgmFieldGroupCreate(handle, known, f"{name}-{watch.name}")
        dcgm.agent.dcgmWatchFields(handle, session.group, fields, int(watch.every_s * 1e6), keep_s, 0)
    except dcgm.structs.DCGMError as why:
        session.lacks[watch.name] = str(why)
        return
    session.watched.append(_Watched(watch, fields, now_us))


def _gpus(dcgm: Bindings, handle: Any, node: str) -> tuple[dict[Entity, Gpu], str]:
    agent, driver = dcgm.agent, ""
    out: dict[Entity, Gpu] = {}
    for number in agent.dcgmGetAllDevices(handle):
        try:
            said = agent.dcgmGetDeviceAttributes(handle, number).identifiers
        except dcgm.structs.DCGMError:  # it cannot even say who it is
            out[GPU, number] = Gpu(uuid=f"{node}/gpu{number}", index=number)
            continue
        driver = _text(said.driverVersion) or driver
        out[GPU, number] = Gpu(
            uuid=_text(said.uuid), index=number, model=_text(said.deviceName), pci=pci_of(_text(said.pciBusId))
        )
    found = _instances(dcgm, handle)
    names = _names(dcgm, handle, list(found))
    for entity, (parent, instance, slices) in found.items():
        gpu = out.get(parent)
        if gpu is not None:
            profile = names.get((entity, NAME), "").rpartition("MIG ")[2] or f"{slices}g"
            uuid = names.get((entity, UUID), "")
            # An engine that knows no UUID of instances gives the GPU's.
            mig_uuid = uuid if uuid.startswith("MIG-") else None
            out[entity] = replace(gpu, mig=f"{profile}/{instance}", mig_uuid=mig_uuid)
    # Instances after their GPU.
    order = sorted(out, key=lambda entity: (out[entity].index or 0, entity))
    return {entity: out[entity] for entity in order}, driver


def _instances(dcgm: Bindings, handle: Any) -> dict[Entity, tuple[Entity, int, int]]:
    try:
        return instances_of(dcgm.agent.dcgmGetGpuInstanceHierarchy(handle))
    except dcgm.structs.DCGMError:  # an engine, or GPUs, without MIG
        return {}


def instances_of(hierarchy: Any) -> dict[Entity, tuple[Entity, int, int]]:
    """GPU instances of c_dcgmMigHierarchy_v2."""
    out: dict[Entity, tuple[Entity, int, int]] = {}
    for at in range(hierarchy.count):
        one = hierarchy.entityList[at]
        if one.entity.entityGroupId == GPU_INSTANCE:
            entity = int(one.entity.entityGroupId), int(one.entity.entityId)
            parent = int(one.parent.entityGroupId), int(one.parent.entityId)
            out[entity] = parent, int(one.info.nvmlInstanceId), int(one.info.nvmlProfileSlices)
    return out


def _names(dcgm: Bindings, handle: Any, entities: Sequence[Entity]) -> Mapping[tuple[Entity, int], str]:
    """Name (`... MIG 1g.10gb`) and UUID of instances; what DCGM does not tell is absent."""
    if not entities:
        return {}
    pairs = []
    for group, number in entities:
        pair = dcgm.structs.c_dcgmGroupEntityPair_t()
        pair.entityGroupId, pair.entityId = group, number
        pairs.append(pair)
    try:
        values = dcgm.agent.dcgmEntitiesGetLatestValues(handle, pairs, [NAME, UUID], LIVE)
    except dcgm.structs.DCGMError:
        return {}
    out: dict[tuple[Entity, int], str] = {}
    for value in values:
        text = _text(value.value.str)
        if value.status == 0 and text and not text.startswith("<<<"):
            out[(int(value.entityGroupId), int(value.entityId)), int(value.fieldId)] = text
    return out


def sample_of(entity: Entity, raw: Any) -> Sample | None:
    """A c_dcgmFieldValue_v1; None: text or a blob, which no watched field is."""
    kind = chr(raw.fieldType) if 0 <= raw.fieldType < 128 else ""
    if kind not in (INTEGER, DOUBLE, TIMESTAMP):
        return None
    value = float(raw.value.dbl) if kind == DOUBLE else int(raw.value.i64)
    return Sample(entity, int(raw.fieldId), kind, int(raw.status), int(raw.ts), value)


def _text(value: "str | bytes") -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
