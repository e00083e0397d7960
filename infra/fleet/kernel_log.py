"""Lines that the kernel prints, in the form of `journalctl -k -o short-iso-precise`."""

from datetime import UTC, datetime, timedelta

from infra.fleet.fault import Fault
from infra.fleet.gpu import NVLINKS
from infra.fleet.layout import GpuSlot
from infra.fleet.models import has

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TEXTS: dict[int, tuple[str, ...]] = {
    13: (
        "Graphics SM Warp Exception on (GPC 2, TPC 5, SM 1): Out Of Range Address",
        "Graphics Exception: ESR 0x51d730=0xc05000e 0x51d734=0x20 0x51d728=0x4c1eb72 0x51d72c=0x174",
    ),
    31: (
        "Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f60_1c000000. "
        "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    ),
    43: ("Ch 00000008",),
    45: ("Ch 00000008",),
    48: ("DBE (double bit error) ECC error detected on DRAM",),
    62: ("2023b230 20238a3a 00000000 20238b08 20238a3a 20238b44 00000000 00000000",),
    63: ("Row Remapper: New row marked for remapping, reset gpu to activate.",),
    64: ("Row Remapper Error: (0x00000002eebc4100) - All reserved rows for bank are remapped",),
    74: ("NVLink: fatal error detected on link 14(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",),
    79: ("GPU has fallen off the bus.",),
    94: ("Contained: CE User Channel (0x9). RST: No, D-RST: No",),
    95: ("Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No",),
    109: ("Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005",),
    119: (
        "Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) "
        "(0x2080a0a6 0x8).",
    ),
    140: ("An uncorrectable ECC error detected (possible firmware handling failure) DRAM:1, LTC:0, MMU:0, PCIE:0",),
    161: ("HBM channel repair failed",),
}
NVSWITCH = "0000:c2:00"
"""PCI address of a node's first."""
SXID = f"nvidia-nvswitch0: SXid (PCI:{NVSWITCH}.0): 20034, Fatal, Link 28 LTSSM Fault Up"
"""As the driver of an NVSwitch prints a link that cannot be brought up."""
SWITCH_FATAL = (
    f"nvidia-nvswitch0: SXid (PCI:{NVSWITCH}.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)",
    f"nvidia-nvswitch0: SXid (PCI:{NVSWITCH}.0): 24007, Severity 1 Engine instance 28 Sub-engine instance 00",
    f"nvidia-nvswitch0: SXid (PCI:{NVSWITCH}.0): 24007, Data {{0x10000000, 0x10008100, 0x00000000, 0x00000000}}",
)
"""As it prints a fatal error of a link behind which a GPU is; the last two lines belong to the first."""
RECOVERIES = {
    "reset": (1, "GPU Reset Required"),
    "reboot": (2, "Node Reboot Required"),
    "drain": (4, "Drain and Reset"),
}
"""What a driver may ask for after an error -> its value (DCGM field 1523) and its words in XID 154."""
HAS_PROCESS = frozenset({13, 31, 43, 45, 94, 109})
"""Codes that the driver prints with the process whose work was hit."""


def line(ts_us: int, node: str, text: str) -> str:
    """One journal line without its newline."""
    when = EPOCH + timedelta(microseconds=ts_us)
    return f"{when.strftime('%Y-%m-%dT%H:%M:%S.%f')}+00:00 {node} kernel: {text}"


def xid(slot: GpuSlot, code: int, pid: int | None, text: str | None = None) -> list[str]:
    """The texts of one XID, first line first. `pid` is the training process on that GPU, if any."""
    who = f"pid={pid}, name=python3" if pid is not None and code in HAS_PROCESS else ("pid='<unknown>', name=<unknown>")
    texts = (text,) if text is not None else TEXTS.get(code, ("Unknown error",))
    return [f"NVRM: Xid (PCI:{slot.pci}): {code}, {who}, {text}" for text in texts]


def link(slot: GpuSlot, *, down: bool) -> str:
    """What the driver of the NIC beside a GPU prints when its link goes down or comes up."""
    word = "Link down" if down else "Link up"
    return f"mlx5_core 0000:{int(slot.pci.split(':')[1], 16) + 1:02x}:00.0 rdma{slot.index}: {word}"


def lost(slot: GpuSlot) -> list[str]:
    """A GPU that fell off the bus: XID 79, what the driver says of it, and the recovery it asks for."""
    return [
        f"NVRM: GPU at PCI:{slot.pci}: {slot.uuid}",
        *xid(slot, 79, None),
        f"NVRM: GPU {slot.pci}.0: GPU has fallen off the bus.",
        *recovery(slot, "reboot"),
    ]


def recovery(slot: GpuSlot, asked: str) -> list[str]:
    """XID 154: what the driver asks for, of a GPU that needed nothing before."""
    code, words = RECOVERIES[asked]
    return xid(slot, 154, None, f"GPU recovery action changed from 0x0 (None) to 0x{code:x} ({words})")


def uncorrectable(slot: GpuSlot, pid: int | None) -> list[str]:
    """An uncorrectable error: found, marked for repair, the program killed; a reset asked for where it is contained."""
    if "volta" in has(slot.model):
        return [*xid(slot, 48, None), *pages_retired(slot, 1), *xid(slot, 45, pid)]
    return [
        *xid(slot, 48, None),
        *xid(slot, 63, None),
        *xid(slot, 94, pid),
        *xid(slot, 45, pid),
        *recovery(slot, "reset"),
    ]


def link_failed(slot: GpuSlot, pid: int | None, links: int) -> list[str]:
    """NVLinks of the fifth generation that went down for good: an event a link, the program killed, a reset."""
    said = [
        f"NETIR_LINK_EVT  Fatal   XC0 i0 Link {NVLINKS - 1 - i:02d} (0x004505c6{' 0x00000000' * 5})"
        for i in range(links)
    ]
    by = "Ch 00000008 caused by previous Xid 149"
    return [
        *(line for text in said for line in xid(slot, 149, None, text)),
        *xid(slot, 45, pid, by),
        *recovery(slot, "reset"),
    ]


def bus_error(slot: GpuSlot) -> list[str]:
    """An uncorrected PCIe error that was not fatal, as the port above the GPU and the kernel report it."""
    port = f"0000:{int(slot.pci.split(':')[1], 16) - 1:02x}:01.0"
    return [
        f"pcieport {port}: AER: Uncorrected (Non-Fatal) error received: {slot.pci}.0",
        f"nvidia {slot.pci}.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer",
    ]


def pages_retired(slot: GpuSlot, pages: int) -> list[str]:
    """XID 63 as GPUs up to Turing print it: a line a page."""
    words = "Dynamic Page Retirement: New retired page, reload the driver to activate."
    return [line for page in range(pages) for line in xid(slot, 63, None, f"{words} (0x{0x2A51F0 + page:016x})")]


def of_fault(fault: Fault, slot: GpuSlot, pid: int | None) -> list[str]:
    """What the kernel prints as a fault of a GPU begins; nothing for most kinds."""
    size = int(fault.size)
    match fault.kind:
        case "xid" if fault.code is not None:
            asked = recovery(slot, fault.recovery) if fault.recovery is not None else []
            return xid(slot, fault.code, pid, fault.text) * size + asked
        case "gpu_lost":
            return lost(slot)
        case "row_remap_failure":
            return xid(slot, 64, None)
        case "ecc_uncorrectable" | "rows_exhausted":
            return uncorrectable(slot, pid)
        case "memory_unrepairable":
            return xid(slot, 161, None)
        case "page_retirement":
            return pages_retired(slot, size)
        case "nvlink_failed":
            return link_failed(slot, pid, size)
        case "pcie_uncorrected":
            return bus_error(slot) * size
        case _:
            return []
