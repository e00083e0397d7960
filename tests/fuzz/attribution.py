"""What the kubelet answers and what a prolog writes."""

import asyncio
import zlib
from collections.abc import Hashable, Mapping

from collectors.attribution.asking import Asking, JobFolder, Kubelet
from collectors.attribution.job_files import Folder, JobFile
from collectors.contract.gpu import Gpu
from collectors.gpu.sweep import Names
from tests.collectors.kubelet import pod_list
from tests.collectors.list_outlet import ListOutlet
from tests.fuzz.parser import Parser

NAMES = Names(cluster="default", node="n1", collector="nvml@h", source="nvml")
GPUS = [
    *(Gpu(uuid=f"GPU-{n}", index=n) for n in range(3)),
    Gpu(uuid="GPU-2", index=2, mig="1g.10gb/7", mig_uuid="MIG-x"),
]


def _pods(raw: bytes) -> list[Gpu]:
    async def ask(_: float) -> bytes:
        return raw

    asking = Asking(ListOutlet(), NAMES, Kubelet("k.sock", ask), None, interval_s=None)
    held = asyncio.run(asking.ask())
    return [held(gpu) for gpu in GPUS]


def _jobs(raw: bytes) -> list[Gpu]:
    folder = JobFolder("/jobs", lambda: Folder((JobFile("0", raw, 1), JobFile("2.7", raw, 1))), 0)
    held = asyncio.run(Asking(ListOutlet(), NAMES, None, folder, interval_s=None).ask())
    return [held(gpu) for gpu in GPUS]


def _first_holder(gpus: list[Gpu]) -> Mapping[Hashable, float | None]:
    """Who came first on each GPU: an answer that was cut off has fewer holders, and none in another's place."""
    first = {at: (gpu.namespace or "", gpu.pod) for at, gpu in enumerate(gpus) if gpu.pod is not None}
    names = {at: "/".join(part.split(",")[0] for part in parts) for at, parts in first.items()}
    return {at: float(zlib.crc32(name.encode())) for at, name in names.items()}


PARSERS = (
    Parser(
        "pod-resources",
        (
            pod_list(("ml", "bert-0", {"main": ["GPU-0", "GPU-1"], "log": []}), ("web", "a", {"x": ["MIG-x"]})),
            pod_list(("a", "one", {"x": ["GPU-0::0", "GPU-0::2"]}), ("b", "two", {"y": ["GPU-0::1", "nvidia2"]})),
        ),
        _pods,
        _first_holder,
    ),
    # No numbers: a file has no end that would tell `4711` from a cut-off `471108`; prologs write it in one piece.
    Parser("hpc-job-file", (b"471108\n471109\n", b"1234.pbs-server\n"), _jobs),
)
