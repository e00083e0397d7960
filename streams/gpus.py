"""Rows of a GPU scrape: who they are and what they read."""

from collectors.contract.gpu import Gpu, GpuScrape
from streams.contract import Subject

CLOCK_SET_BACK_US = 900_000_000
"""What is so much older than its predecessor is not late: the node's clock ran ahead and was set right."""

BLANK = 9223372036854775792
"""Readings from here on are DCGM's sentinels of 64 bits (dcgm_structs.h): no reading at all."""
BLANK_GAUGE = 2147483632.0
"""Those of 32 bits: no clock, temperature, share or bit mask is as large."""
SM_ACTIVE, GR_ACTIVE, GPU_UTIL = "1002", "1001", "203"


def is_old(ts_us: int, last_us: int) -> bool:
    """Is a message of one source no news: the same again, or late?"""
    return last_us - CLOCK_SET_BACK_US < ts_us <= last_us


def gpu_subject(node: str, gpu: Gpu) -> Subject:
    """By UUID, with all names under which others may know it. A MIG instance stands for its whole GPU."""
    return Subject(kind="gpu", id=gpu.uuid, node=node, gpu_uuid=gpu.uuid, gpu_index=gpu.index, pci=gpu.pci)


def user_of(gpu: Gpu) -> str | None:
    """The job that a GPU works for, or else its pod; None: not told."""
    if gpu.hpc_job is not None and gpu.hpc_job != "":
        return gpu.hpc_job
    return None if gpu.pod is None or gpu.pod == "" else f"{gpu.namespace}/{gpu.pod}"


def uuids(scrape: GpuScrape) -> list[str]:
    """One per row; rows of MIG instances repeat the UUID of their GPU."""
    return [g.uuid for g in scrape.gpus]


def cell(scrape: GpuScrape, field_id: str, row: int) -> float | None:
    """One reading; None: could not be read or was not sent."""
    column = scrape.columns.get(field_id)
    return column[row] if column is not None and row < len(column) else None


def gauge(scrape: GpuScrape, field_id: str, row: int) -> float | None:
    """A reading that is no counter; None: could not be read, was not sent, or is a sentinel."""
    value = cell(scrape, field_id, row)
    return None if value is None or value >= BLANK_GAUGE else value


def share_at_work(scrape: GpuScrape, row: int) -> float | None:
    """Share of time with work on the SMs, by the finest field that tells it; None: none does.

    A profiling field that stands at exactly 0 on a GPU in use has stuck (dcgm-exporter issue 662): the coarse
    one is asked instead.
    """
    util = gauge(scrape, GPU_UTIL, row)
    active = gauge(scrape, SM_ACTIVE, row)
    if active is None or (active == 0.0 and util is not None and util > 0.0):
        finer = gauge(scrape, GR_ACTIVE, row)
        if finer is not None and (finer > 0.0 or active is None):
            active = finer
    if util is not None and (active is None or (active == 0.0 and util > 0.0)):
        active = util / 100.0
    return active


def row_of(scrape: GpuScrape, subject: Subject) -> int | None:
    """The first row of a GPU, by UUID or, where that is not known, by PCI address; None: it is not there."""
    for row, gpu in enumerate(scrape.gpus):
        if gpu.uuid == subject.gpu_uuid or (subject.gpu_uuid is None and gpu.pci == subject.pci):
            return row
    return None
