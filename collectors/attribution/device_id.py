"""A GPU under the names that device plug-ins give it.

NVIDIA's: `GPU-<uuid>`, `MIG-<uuid>`, with `::<n>` where it is shared in time. GKE's: `nvidia<index>`,
`nvidia<index>/gi<instance>`, with `/vgpu<n>` where it is shared.
"""

import re

from collectors.contract.gpu import Gpu

_DEVICE = re.compile(r"((?:GPU|MIG)-[0-9A-Za-z-]{1,64})(::\d{1,9})?|(nvidia\d{1,4}(?:/gi\d{1,4})?)(/vgpu\d{1,9})?")


def device_of(device_id: str) -> str | None:
    """The device without its share; None: no GPU's name."""
    found = _DEVICE.fullmatch(device_id)
    return None if found is None else found[1] or found[3]


def is_shared(device_id: str) -> bool:
    """Is it one of several shares of the device?"""
    found = _DEVICE.fullmatch(device_id)
    return found is not None and (found[2] or found[4]) is not None


def names_of(gpu: Gpu) -> list[str]:
    """As `device_of` names it. A MIG instance is not its GPU: who holds the one does not hold the other."""
    instance = instance_of(gpu)
    if gpu.mig is None:
        names = [gpu.uuid, None if gpu.index is None else f"nvidia{gpu.index}"]
    else:
        by_index = None if gpu.index is None or instance is None else f"nvidia{gpu.index}/gi{instance}"
        names = [gpu.mig_uuid, by_index]
    return [name for name in names if name is not None]


def instance_of(gpu: Gpu) -> str | None:
    """The GPU instance of a MIG row (`1g.10gb/7` -> `7`)."""
    parts = [] if gpu.mig is None else gpu.mig.split("/")
    return parts[1] if len(parts) > 1 else None
