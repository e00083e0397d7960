"""Messages of NVIDIA's drivers: Xid, SXid, a GPU that fell off the bus.

Forms: NVIDIA open-gpu-kernel-modules, kernel_rc.c (Xid) and common_nvswitch.h (SXid); older ones as published
in driver logs since 2014.
"""

import re

from collectors.kernel.fact import Fact, UnreadableLine, pci_address

_XID = re.compile(
    r"NVRM: (?:GPU at )?Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)"
    r"(?: GPU-I:(?P<gi>\d+))?(?: GPU-CI:(?P<ci>\d+))?\): (?P<code>\d+)"
    r"(?:, pid='?(?P<pid>\d+|<?[\w ]*>?)'?)?(?:, name=(?P<name>[^,]*))?(?:, ?(?P<text>.*))?$",
    re.DOTALL,
)
_SXID = re.compile(
    r"(?P<device>nvidia-nvswitch\d+): SXid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<code>\d+)(?:, (?P<text>.*))?$",
    re.DOTALL,
)
_SXID_MORE = re.compile(r"(?:Severity \d|Data \{)")
_GPU_NAMED = re.compile(r"NVRM: (?:The NVIDIA )?GPU (?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})")
_FALLEN = re.compile(r"NVRM: .*fallen off the bus")
_UUID = re.compile(r"NVRM: GPU at (?:PCI:)?(?P<pci>[0-9a-fA-F:.]+): (?P<uuid>GPU-[0-9a-fA-F-]{36})")


def read_xid(text: str) -> Fact | None:
    """An Xid in any form; the rest of the line, registers and all, is `detail`. Raises `UnreadableLine`."""
    if "Xid (" not in text or "SXid (" in text:
        return None
    found = _XID.search(text)
    if found is None:
        if not text.startswith("NVRM:"):
            return None
        raise UnreadableLine("an Xid line in no known form")
    code = int(found["code"])
    if code > 9999:
        raise UnreadableLine(f"an Xid number of {len(found['code'])} digits")
    pid, name = found["pid"], found["name"]
    instances = [str(int(i)) for i in (found["gi"], found["ci"]) if i is not None]
    return Fact(
        kind="xid",
        code=code,
        pci=pci_address(found["pci"]),
        mig="/".join(instances) or None,
        pid=int(pid) if pid and pid.isdecimal() and len(pid) < 10 else None,
        process=name if name and name not in ("<unknown>", "'<unknown>'") else None,
        detail=found["text"] or None,
    )


def read_sxid(text: str) -> Fact | None:
    """The first line of an NVSwitch error; the Severity and Data lines behind it are no events of their own."""
    if "SXid (" not in text:
        return None
    found = _SXID.search(text)
    if found is None:
        if not text.startswith("nvidia-nvswitch"):
            return None
        raise UnreadableLine("an SXid line in no known form")
    detail = found["text"] or ""
    if _SXID_MORE.match(detail):
        return None
    if len(found["code"]) > 6:
        raise UnreadableLine(f"an SXid number of {len(found['code'])} digits")
    return Fact(
        kind="sxid",
        code=int(found["code"]),
        pci=pci_address(found["pci"]),
        device=found["device"],
        detail=detail or None,
    )


def named_gpu(text: str) -> str | None:
    """The PCI address of a GPU that a driver message is about: the loss may be told two lines further on."""
    found = _GPU_NAMED.match(text)
    return None if found is None else pci_address(found[1])


def gpu_fell(text: str) -> bool:
    """Whether the message, which is no Xid, says that a GPU has fallen off the bus."""
    return _FALLEN.match(text) is not None and "Xid (" not in text


def uuid_at(text: str) -> tuple[str, str] | None:
    """(PCI address, GPU UUID): the driver prints it before the first Xid of a GPU."""
    found = _UUID.match(text)
    return None if found is None else (pci_address(found["pci"]), found["uuid"])
