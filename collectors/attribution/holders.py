"""A GPU with its holders, where several tell.

The surest first: the control groups of the processes that run on it, then what the kubelet gave away, then the
prolog's files. `hpc_job` is that of the processes, and of the files only where no process tells a job; the pods' names
are the kubelet's, their `pod_uid` that of the processes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from collectors.attribution.device_id import instance_of, names_of
from collectors.attribution.pod_resources import PodsHolding
from collectors.contract.gpu import Gpu
from collectors.gpu.usage import Owner, used_by

Processes = Mapping[tuple[str, str | None], Sequence[Owner]]
"""(UUID of the GPU, MIG instance on it) -> whose its processes are, where the reader does not look at them itself."""


@dataclass(frozen=True, slots=True)
class Holders:
    """What is known now; what could not be asked is empty: nothing is told of it."""

    pods: PodsHolding = field(default_factory=PodsHolding)
    jobs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name of the file -> its jobs."""
    processes: Processes = field(default_factory=dict)


def held(gpu: Gpu, holders: Holders) -> Gpu:
    """The GPU with all that is told of it. Several pods stand parallel, parted by commas, as from dcgm-exporter."""
    if gpu.hpc_job is None and gpu.pod_uid is None:
        gpu = used_by(gpu, holders.processes.get((gpu.uuid, instance_of(gpu)), ()))
    pods = [one for name in names_of(gpu) for one in holders.pods.by_device.get(name, ())]
    pods = list(dict.fromkeys(pods))
    if pods:
        gpu = replace(
            gpu,
            namespace=",".join(one.namespace for one in pods),
            pod=",".join(one.pod for one in pods),
            container=",".join(one.container for one in pods),
        )
    jobs = () if gpu.hpc_job is not None else _jobs(gpu, holders.jobs)
    return replace(gpu, hpc_job=",".join(jobs)) if jobs else gpu


def _jobs(gpu: Gpu, jobs: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """An instance is held by whoever holds it, else by whoever holds its GPU."""
    if gpu.index is None:
        return ()
    instance = instance_of(gpu)
    own = jobs.get(f"{gpu.index}.{instance}", ()) if instance is not None else ()
    return own or jobs.get(str(gpu.index), ())
