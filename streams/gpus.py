"""The GPU that a finding is about, from a row of a scrape."""

from collectors.contract.gpu import Gpu, GpuScrape
from streams.contract import Subject


def gpu_subject(node: str, gpu: Gpu) -> Subject:
    """By UUID, with all names under which others may know it. A MIG instance stands for its whole GPU."""
    return Subject(kind="gpu", id=gpu.uuid, node=node, gpu_uuid=gpu.uuid, gpu_index=gpu.index, pci=gpu.pci)


def uuids(scrape: GpuScrape) -> list[str]:
    """One per row; rows of MIG instances repeat the UUID of their GPU."""
    return [g.uuid for g in scrape.gpus]
