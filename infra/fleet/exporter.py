"""What dcgm-exporter shows of the simulated GPUs: the columns, and the page in its text form."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from collectors.contract.gpu import Entities
from infra.fleet.gpu import (
    BANKS,
    FB_MIB,
    FB_RESERVED_MIB,
    MEM_MHZ,
    NVLINKS,
    PCIE_GEN,
    PCIE_IDLE_GEN,
    PCIE_LANES,
    SLOWDOWN_C,
    Gpu,
)
from infra.fleet.layout import GpuSlot
from infra.fleet.models import has

DRIVER_VERSION = "570.124.06"
PCIE_BYTES_S = 9.0e9
"""Over PCIe while a GPU does nothing but transfer."""
USED_BUSY_MIB, USED_IDLE_MIB = 71_300.0, 4.0
NVSWITCHES = 4
"""Of an HGX H100 board."""


@dataclass(frozen=True, slots=True)
class Field:
    """One metric of the page."""

    id: str
    name: str
    type: str
    form: str
    on: str
    """Which GPUs have it; others leave it out."""
    help: str


@cache
def fields(model: str) -> tuple[Field, ...]:
    """The exporter's CSV of this fleet, as far as a GPU of the model has them."""
    with (Path(__file__).parent / "exporter_fields.csv").open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return tuple(made for row in rows if (made := Field(**row)).on in has(model))


def columns(model: str, gpus: Sequence[Gpu]) -> dict[str, list[float | None]]:
    """The columns of a scrape, parallel to `gpus`."""
    return {field_id: list(column) for field_id, column in values(model, gpus).items()}


def values(model: str, gpus: Sequence[Gpu]) -> dict[str, list[float]]:
    """DCGM field id -> one value per GPU now, in DCGM's units; one column for each of the model's `fields`."""
    temps = [g.shown_temp for g in gpus]
    busy = [g.job is not None for g in gpus]
    active = [g.compute + g.wait + g.transfer for g in gpus]
    power = [g.power_w for g in gpus]
    used = [USED_BUSY_MIB if b else USED_IDLE_MIB for b in busy]
    spare = [float(min(g.remapped, BANKS)) for g in gpus]
    zero = [0.0] * len(gpus)
    made: dict[str, list[float]] = {
        "100": [g.sm_mhz for g in gpus],
        "101": [MEM_MHZ] * len(gpus),
        "140": [t + 11.0 for t in temps],
        "150": temps,
        "153": [SLOWDOWN_C - t for t in temps],
        "155": power,
        "157": power,
        "164": [round(g.limit_w, 3) for g in gpus],
        "156": [float(int(g.energy_mj)) for g in gpus],
        # Kernels of NCCL spin while they wait: coarse use says 100 for a blocked GPU too.
        "203": [100.0 if b and a > 0.3 else 0.0 for b, a in zip(busy, active, strict=True)],
        "204": [float(round(45 * g.compute)) for g in gpus],
        "112": [float(g.reasons) for g in gpus],
        "240": [float(g.power_ns) for g in gpus],
        "241": [float(g.thermal_ns) for g in gpus],
        "1420": [float(g.power_ns - g.brake_ns) for g in gpus],
        "1422": [float(g.sw_thermal_ns) for g in gpus],
        "1423": [float(g.hw_thermal_ns) for g in gpus],
        "1424": [float(g.brake_ns) for g in gpus],
        "230": [float(g.xid) for g in gpus],
        "1523": [float(g.recovery) for g in gpus],
        "251": [FB_MIB - FB_RESERVED_MIB - u for u in used],
        "252": used,
        "253": [float(FB_RESERVED_MIB)] * len(gpus),
        "202": [float(g.pcie_replays) for g in gpus],
        "235": [float(PCIE_GEN)] * len(gpus),
        "236": [float(PCIE_LANES)] * len(gpus),
        "237": [float(PCIE_GEN if b else PCIE_IDLE_GEN) for b in busy],
        "238": [float(g.lanes) for g in gpus],
        "409": [float(g.nvlink_crc) for g in gpus],
        "310": [float(g.sbe) for g in gpus],
        "311": [float(g.dbe) for g in gpus],
        "312": [float(g.sbe_before + g.sbe) for g in gpus],
        "313": [float(g.dbe_before + g.dbe) for g in gpus],
        "385": [BANKS - s for s in spare],
        "386": spare,
        "393": [float(g.remapped) for g in gpus],
        "346": [float(g.sram_over) for g in gpus],
        "394": [float(g.remapped_corrected) for g in gpus],
        "395": [float(g.remap_failed) for g in gpus],
        "396": [float(g.remap_pending) for g in gpus],
        "390": [float(g.pages_corrected) for g in gpus],
        "391": [float(g.pages_uncorrected) for g in gpus],
        "392": [float(g.pages_pending) for g in gpus],
        "1507": [float(g.unrepairable) for g in gpus],
        "1211": [float(g.recoveries) for g in gpus],
        "1212": [float(g.links_failed) for g in gpus],
        "1400": [float(g.c2c_crc) for g in gpus],
        "1401": [float(g.c2c_crc) for g in gpus],
        "1001": [round(a, 6) for a in active],
        "1002": [round(0.93 * g.compute + 0.22 * (g.wait + g.transfer), 6) for g in gpus],
        "1004": [round(0.56 * g.compute, 6) for g in gpus],
        "1005": [round(0.42 * g.compute + 0.06 * g.transfer, 6) for g in gpus],
        "1009": [float(int(PCIE_BYTES_S * (0.10 * g.compute + g.transfer))) for g in gpus],
        "1010": [float(int(PCIE_BYTES_S * (0.12 * g.compute + g.transfer))) for g in gpus],
    }
    return {field.id: made.get(field.id, zero) for field in fields(model)}


def nvlinks(slots: Sequence[GpuSlot], gpus: Sequence[Gpu]) -> Entities:
    """The state of every NVLink (field 1508): 1 carries traffic, 0 does not. The last links of a GPU fail first."""
    return Entities(
        kind="nvlink",
        ids=[str(link) for _ in gpus for link in range(NVLINKS)],
        parents=[slot.uuid for slot in slots for _ in range(NVLINKS)],
        columns={"1508": [float(link < NVLINKS - gpu.links_down) for gpu in gpus for link in range(NVLINKS)]},
    )


def nvswitches(reset: bool) -> Entities:
    """Whether each NVSwitch of a node asks for a reset (field 864); the first fails first."""
    ids = [f"nvswitch{i}" for i in range(NVSWITCHES)]
    return Entities(
        kind="nvswitch",
        ids=ids,
        parents=[None] * NVSWITCHES,
        columns={"864": [float(reset and i == 0) for i in range(NVSWITCHES)]},
    )


class Page:
    """The page of one node. Keeps the text up to each value, which changes with the job only."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._heads: dict[tuple[str, str | None], list[str]] = {}

    def text(self, slots: Sequence[GpuSlot], gpus: Sequence[Gpu]) -> str:
        """The page in Prometheus text form, as dcgm-exporter prints it."""
        model = slots[0].model if slots else ""
        made = values(model, gpus)
        heads = [self._head(slot, gpu.job) for slot, gpu in zip(slots, gpus, strict=True)]
        out: list[str] = []
        for place, field in enumerate(fields(model)):
            out.append(f"# HELP {field.name} {field.help}\n# TYPE {field.name} {field.type}\n")
            if field.form == "d":
                out.extend(f"{head[place]}{int(value)}\n" for head, value in zip(heads, made[field.id], strict=True))
            else:
                out.extend(f"{head[place]}{value:.6f}\n" for head, value in zip(heads, made[field.id], strict=True))
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
            known = [f"{field.name}{{{labels}}} " for field in fields(slot.model)]
            self._heads[(slot.uuid, job)] = known
        return known
