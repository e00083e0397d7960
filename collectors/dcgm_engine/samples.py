"""Samples of DCGM into moments and faults. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.contract.gpu import Gpu
from collectors.dcgm.fields import FP64_BLANK, INT32_BLANK, INT64_BLANK
from collectors.dcgm_engine.watched import XID
from collectors.gpu.reading import Fault, Row

GPU, GPU_INSTANCE = 1, 4
"""DCGM_FE_GPU, DCGM_FE_GPU_I"""
INTEGER, DOUBLE, TIMESTAMP = "i", "d", "t"
BLANKS = {0: "no value", 1: "not found", 2: "not supported", 3: "no permission"}
"""By the distance from a type's first sentinel; anything above is no value either (dcgm_structs.h)."""
LAST = 3
ABSENT = frozenset({1, 2})
STATUS = {
    -6: "not supported",
    -8: "NVML failed",
    -11: "timed out",
    -14: "no data",
    -15: "stale",
    -16: "not watched",
    -17: "no permission",
    -18: "the GPU is lost",
    -19: "the GPU needs a reset",
}
"""Of a sample: dcgmReturn_t, dcgm_structs.h."""

Entity = tuple[int, int]
"""Entity group and id."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value as DCGM keeps it: `ts_us` is when it was taken."""

    entity: Entity
    field: int
    kind: str
    status: int
    ts_us: int
    value: float


@dataclass(slots=True)
class _Moment:
    start_us: int
    newest_us: int
    samples: dict[tuple[Entity, int], Sample] = field(default_factory=dict)


def blank_of(sample: Sample) -> int | None:
    """Which sentinel a value is, as in `BLANKS`; None: it is a number."""
    if sample.kind == DOUBLE:
        if math.isnan(sample.value) or sample.value >= FP64_BLANK:
            distance = sample.value - FP64_BLANK
            return int(distance) if 0 <= distance <= LAST else 0
        return None
    if sample.value >= INT64_BLANK:
        return int(sample.value) - INT64_BLANK
    # 32-bit readings that were widened with their sentinel.
    distance = sample.value - INT32_BLANK
    return int(distance) if 0 <= distance <= LAST else None


def moments_of(
    samples: Iterable[Sample],
    gpus: Mapping[Entity, Gpu],
    held: Mapping[tuple[Entity, int], Sample],
    apart_us: int,
) -> dict[int, list[Row]]:
    """Time of the newest sample -> rows. Samples of one pass come together; `held` are values that still hold.

    A pass ends when an entity's field comes again, or `apart_us` after its first sample.
    """
    passes: list[_Moment] = []
    for sample in sorted(samples, key=lambda sample: sample.ts_us):
        if sample.entity not in gpus:
            continue
        key = sample.entity, sample.field
        last = passes[-1] if passes else None
        if last is None or key in last.samples or sample.ts_us - last.start_us >= apart_us:
            last = _Moment(sample.ts_us, sample.ts_us)
            passes.append(last)
        last.samples[key] = sample
        last.newest_us = sample.ts_us
    return {one.newest_us: _rows(gpus, {**held, **one.samples}) for one in passes}


def _rows(gpus: Mapping[Entity, Gpu], samples: Mapping[tuple[Entity, int], Sample]) -> list[Row]:
    values: dict[Entity, dict[str, float | None]] = {entity: {} for entity in gpus}
    errors: dict[Entity, dict[str, str]] = {entity: {} for entity in gpus}
    for (entity, number), sample in samples.items():
        if entity not in gpus:
            continue
        name, blank = str(number), blank_of(sample)
        if sample.status != 0:
            values[entity][name] = None
            errors[entity][name] = STATUS.get(sample.status, f"DCGM status {sample.status}")
        elif blank is None:
            values[entity][name] = sample.value
        elif blank not in ABSENT:
            values[entity][name] = None
            if blank != 0:
                errors[entity][name] = BLANKS.get(blank, BLANKS[0])
    return [Row(gpu=gpu, values=values[entity], errors=errors[entity]) for entity, gpu in gpus.items()]


def faults_of(samples: Iterable[Sample], gpus: Mapping[Entity, Gpu]) -> list[Fault]:
    """Each XID that DCGM kept: none is lost when a later one comes in the same interval."""
    found: dict[tuple[Entity, int, float], Fault] = {}
    for sample in sorted(samples, key=lambda sample: sample.ts_us):
        if sample.field != XID or sample.status != 0 or blank_of(sample) is not None or sample.value <= 0:
            continue
        gpu = gpus.get(sample.entity)
        mig = None if gpu is None or gpu.mig is None else gpu.mig.rpartition("/")[2]
        found.setdefault(
            (sample.entity, sample.ts_us, sample.value),
            Fault(ts_us=sample.ts_us, code=int(sample.value), gpu=gpu, mig=mig, detail="told by DCGM, field 230"),
        )
    return list(found.values())


def hold(kept: dict[tuple[Entity, int], Sample], samples: Sequence[Sample], fields: frozenset[int]) -> None:
    """Keep the newest sample of each of these fields."""
    for sample in samples:
        if sample.field in fields:
            key = sample.entity, sample.field
            before = kept.get(key)
            if before is None or before.ts_us <= sample.ts_us:
                kept[key] = sample
