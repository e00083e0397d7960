"""Where GPUs sit, and whom their node says that they serve."""

from dataclasses import dataclass
from itertools import zip_longest

from collectors.contract.gpu import Gpu, GpuScrape


@dataclass(frozen=True, slots=True)
class GpuPlace:
    """Where a GPU sits and which jobs or pods its node says it serves, on all of its MIG instances."""

    node: str
    uuid: str
    index: int | None
    pci: str | None
    holders: frozenset[str]
    migs: tuple[str, ...] = ()
    """UUIDs of its MIG devices, as a rank on one names its GPU."""


def places_of(message: GpuScrape) -> dict[str, GpuPlace]:
    """A place a GPU: its instances are rows of the same UUID."""
    rows: dict[str, list[Gpu]] = {}
    for gpu in message.gpus:
        rows.setdefault(gpu.uuid, []).append(gpu)
    return {
        uuid: GpuPlace(
            message.node,
            uuid,
            those[0].index,
            next((gpu.pci for gpu in those if gpu.pci is not None), None),
            frozenset().union(*map(_holders, those)),
            tuple(gpu.mig_uuid for gpu in those if gpu.mig_uuid is not None),
        )
        for uuid, those in rows.items()
    }


def _holders(gpu: Gpu) -> frozenset[str]:
    """Its jobs, else its pods as `namespace/name`; several stand parallel, parted by commas."""
    if gpu.hpc_job:
        return frozenset(gpu.hpc_job.split(","))
    pods = gpu.pod.split(",") if gpu.pod else []
    namespaces = (gpu.namespace or "").split(",")
    pairs = zip_longest(namespaces[: len(pods)], pods, fillvalue="")
    return frozenset(f"{namespace or 'default'}/{pod}" for namespace, pod in pairs if pod)
