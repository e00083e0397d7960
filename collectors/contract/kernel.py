"""What the kernel log said."""

from typing import Literal

from collectors.contract.message import Message

KernelKind = Literal[
    "xid",
    "sxid",
    "gpu_lost",
    "link_down",
    "link_up",
    "transceiver",
    "firmware",
    "oom",
    "mce",
    "aer",
    "hung_task",
    "storage",
    "suppressed",
    "gap",
]


class KernelEvent(Message, frozen=True, kw_only=True):
    """One event of one node's kernel log.

    `code` is the XID or SXid number. `pci` is `domain:bus:device`, lower case. `device` is the network
    interface or RDMA device of a link event. `raw` is the line as it stood.
    """

    node: str
    kind: KernelKind
    code: int | None = None
    pci: str | None = None
    gpu_uuid: str | None = None
    mig: str | None = None
    device: str | None = None
    pid: int | None = None
    process: str | None = None
    detail: str | None = None
    raw: str = ""
