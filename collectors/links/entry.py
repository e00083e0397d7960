"""One entry of a cable map -> `Link`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from collectors.contract.fabric import Link

FIELDS = Link.__struct_fields__
LISTS = ("gpu_uuids", "gpu_index")


def link_of(entry: Mapping[str, Any], *, cluster: str, ts_us: int) -> Link:
    """`cluster` and `ts_us` stand in where the entry does not say them. Raises ValueError saying what is wrong.

    `far_device` may be left out for a host's port: it is the node then. What has a node or GPUs is a NIC
    unless it is told otherwise.
    """
    unknown = [name for name in entry if name not in FIELDS]
    if unknown:
        raise ValueError(f"no field {unknown[0]!r}; there are {', '.join(FIELDS)}")
    said = {name: value for name, value in entry.items() if value not in (None, "")}
    for name in ("device", "port"):
        if name not in said:
            raise ValueError(f"no {name}")
    if "far_device" not in said:
        if "node" not in said:
            raise ValueError("neither far_device nor node: what is it plugged into?")
        said["far_device"] = said["node"]
    if "far_kind" not in said and ({"node", *LISTS} & said.keys()):
        said["far_kind"] = "nic"
    try:
        link = msgspec.convert({"cluster": cluster, "ts_us": ts_us, **said}, Link, strict=False)
    except msgspec.ValidationError as why:
        raise ValueError(str(why)) from why
    for uuid in link.gpu_uuids:
        if not uuid.startswith(("GPU-", "MIG-")):
            raise ValueError(f"gpu_uuids: {uuid!r} is no UUID such as GPU-...; a GPU's index goes into gpu_index")
    return link
