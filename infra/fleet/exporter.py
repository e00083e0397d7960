"""What dcgm-exporter shows of the simulated GPUs: the columns, and the page in its text form."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infra.fleet.gpu import BANKS, FB_MIB, FB_RESERVED_MIB, LIMIT_W, MEM_MHZ, SLOWDOWN_C, Gpu
from infra.fleet.layout import GpuSlot

DRIVER_VERSION = "570.124.06"
TOP = 9.0e6
"""Bytes a second over PCIe at full work, in thousands; enough to be seen."""


@dataclass(frozen=True, slots=True)
class Field:
    """One metric of the page."""

    id: str
    name: str
    type: str
    form: str
    help: str


@cache
def fields() -> tuple[Field, ...]:
    """The exporter's CSV of this fleet."""
    with (Path(__file__).parent / "exporter_fields.csv").open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return tuple(Field(**row) for row in rows)


def values(gpu: Gpu) -> dict[str, float]:
    """Field id -> value of one GPU now, in DCGM's units."""
    busy = gpu.job is not None
    active = gpu.compute + gpu.wait + gpu.transfer
    temp = gpu.shown_temp
    used = 71_300 if busy else 4
    return {
        "100": gpu.sm_mhz,
        "101": MEM_MHZ,
        "140": temp + 11.0,
        "150": temp,
        "153": SLOWDOWN_C - temp,
        "155": gpu.power_w,
        "157": gpu.power_w,
        "164": LIMIT_W,
        "156": int(gpu.energy_mj),
        "202": gpu.pcie_replays,
        # Kernels of NCCL spin while they wait: coarse use says 100 for a blocked GPU too.
        "203": 100 if busy and active > 0.3 else 0,
        "204": round(45 * gpu.compute),
        "206": 0,
        "207": 0,
        "112": gpu.reasons,
        "240": gpu.power_ns,
        "241": gpu.thermal_ns,
        "1420": gpu.power_ns - gpu.brake_ns,
        "1422": gpu.sw_thermal_ns,
        "1423": gpu.hw_thermal_ns,
        "1424": gpu.brake_ns,
        "230": gpu.xid,
        "1523": gpu.recovery,
        "251": FB_MIB - FB_RESERVED_MIB - used,
        "252": used,
        "253": FB_RESERVED_MIB,
        "310": gpu.sbe,
        "311": gpu.dbe,
        "312": gpu.sbe_before + gpu.sbe,
        "313": gpu.dbe_before + gpu.dbe,
        "346": 0,
        "385": BANKS - min(gpu.remapped, BANKS),
        "386": min(gpu.remapped, BANKS),
        "387": 0,
        "388": 0,
        "389": 0,
        "393": gpu.remapped,
        "394": 0,
        "395": 0,
        "396": gpu.remap_pending,
        "409": 0,
        "419": 0,
        "429": 0,
        "439": 0,
        "1501": 0,
        "1001": round(active, 6),
        "1002": round(0.93 * gpu.compute + 0.22 * (gpu.wait + gpu.transfer), 6),
        "1004": round(0.56 * gpu.compute, 6),
        "1005": round(0.42 * gpu.compute + 0.06 * gpu.transfer, 6),
        "1009": int(TOP * 1e3 * (gpu.compute * 0.1 + gpu.transfer)),
        "1010": int(TOP * 1e3 * (gpu.compute * 0.12 + gpu.transfer)),
    }


def columns(gpus: Sequence[Gpu]) -> dict[str, list[float | None]]:
    """The columns of a scrape, parallel to `gpus`."""
    rows = [values(gpu) for gpu in gpus]
    return {field.id: [float(row[field.id]) for row in rows] for field in fields()}


class Page:
    """The page of one node. Keeps the text up to each value, which changes with the job only."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._heads: dict[tuple[str, str | None], list[str]] = {}

    def text(self, slots: Sequence[GpuSlot], gpus: Sequence[Gpu]) -> str:
        """The page in Prometheus text form, as dcgm-exporter prints it."""
        rows = [values(gpu) for gpu in gpus]
        heads = [self._head(slot, gpu.job) for slot, gpu in zip(slots, gpus, strict=True)]
        out: list[str] = []
        for place, field in enumerate(fields()):
            out.append(f"# HELP {field.name} {field.help}\n# TYPE {field.name} {field.type}\n")
            if field.form == "d":
                out.extend(f"{head[place]}{int(row[field.id])}\n" for head, row in zip(heads, rows, strict=True))
            else:
                out.extend(f"{head[place]}{row[field.id]:.6f}\n" for head, row in zip(heads, rows, strict=True))
        return "".join(out)

    def _head(self, slot: GpuSlot, job: str | None) -> list[str]:
        known = self._heads.get((slot.uuid, job))
        if known is None:
            domain, rest = slot.pci.split(":", 1)
            labels = (
                f'gpu="{slot.index}",UUID="{slot.uuid}",pci_bus_id="0000{domain}:{rest.upper()}.0",'
                f'device="nvidia{slot.index}",modelName="{slot.model}",Hostname="{self._node}",'
                f'DCGM_FI_DRIVER_VERSION="{DRIVER_VERSION}"'
            ) + (f',hpc_job="{job}"' if job is not None else "")
            known = [f"{field.name}{{{labels}}} " for field in fields()]
            self._heads[(slot.uuid, job)] = known
        return known
