"""What the collectors make of kernel lines, without the files between."""

import re
from collections.abc import Iterator

from collectors.contract.kernel import KernelEvent
from infra.fleet import kernel_log
from infra.fleet.world import KernelLine

_XID = re.compile(
    r"NVRM: Xid \(PCI:(?P<pci>[0-9a-f:]+)\): (?P<code>\d+), pid=(?P<pid>'<unknown>'|\d+), name=(?P<name>[^,]*), "
    r"(?P<text>.*)"
)
_LOST = re.compile(r"NVRM: GPU (?P<pci>[0-9a-f:]+)\.0: GPU has fallen off the bus\.")


def kernel_event(happened: KernelLine, cluster: str) -> Iterator[KernelEvent]:
    """The event of a line of the simulated kernel; lines that are none give nothing."""
    raw = kernel_log.line(happened.ts_us, happened.node, happened.text)
    xid, lost = _XID.match(happened.text), _LOST.match(happened.text)
    if xid is not None:
        known = xid["pid"].isdigit()
        yield KernelEvent(
            cluster=cluster,
            ts_us=happened.ts_us,
            node=happened.node,
            kind="xid",
            code=int(xid["code"]),
            pci=xid["pci"],
            pid=int(xid["pid"]) if known else None,
            process=xid["name"] if known else None,
            detail=xid["text"],
            raw=raw,
        )
    elif lost is not None:
        yield KernelEvent(
            cluster=cluster, ts_us=happened.ts_us, node=happened.node, kind="gpu_lost", pci=lost["pci"], raw=raw
        )
