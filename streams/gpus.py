"""Rows of a GPU scrape: who they are and what they read."""

from collectors.contract.gpu import Gpu, GpuScrape
from streams.contract import Subject

CLOCK_SET_BACK_US = 900_000_000
"""What is so much older than its predecessor is not late: the node's clock ran ahead and was set right."""


def is_old(ts_us: int, last_us: int) -> bool:
    """Is a message of one source no news: the same again, or late?"""
    return last_us - CLOCK_SET_BACK_US < ts_us <= last_us


def gpu_subject(node: str, gpu: Gpu) -> Subject:
    """By UUID, with all names under which others may know it. A MIG instance stands for its whole GPU."""
    return Subject(kind="gpu", id=gpu.uuid, node=node, gpu_uuid=gpu.uuid, gpu_index=gpu.index, pci=gpu.pci)


def uuids(scrape: GpuScrape) -> list[str]:
    """One per row; rows of MIG instances repeat the UUID of their GPU."""
    return [g.uuid for g in scrape.gpus]


def cell(scrape: GpuScrape, field_id: str, row: int) -> float | None:
    """One reading; None: could not be read or was not sent."""
    column = scrape.columns.get(field_id)
    return column[row] if column is not None and row < len(column) else None


def row_of(scrape: GpuScrape, subject: Subject) -> int | None:
    """The first row of a GPU, by UUID or, where that is not known, by PCI address; None: it is not there."""
    for row, gpu in enumerate(scrape.gpus):
        if gpu.uuid == subject.gpu_uuid or (subject.gpu_uuid is None and gpu.pci == subject.pci):
            return row
    return None
