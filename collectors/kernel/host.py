"""Messages about the rest of the host: NICs, memory, machine checks, PCIe errors, tasks and disks that hang.

Forms: the Linux drivers' own format strings (mlx5_core, bnxt_en, ice, i40e, ixgbe, igb, tg3, r8169, nvme), and
those of mm/oom_kill.c, arch/x86 mce, drivers/edac, drivers/pci/pcie/{aer,dpc}.c, kernel/{hung_task,watchdog}.c,
net/sched/sch_generic.c, block/blk-core.c, fs/{nfs,lockd}, lib/ratelimit.c.
"""

import re
from collections.abc import Callable

from collectors.kernel.fact import Fact, pci_address

_PCI = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_LINK = re.compile(
    rf"(?P<driver>[\w-]+):? (?:(?P<pci>{_PCI}):? )?(?P<device>[\w.@-]+):? (?:[\w-]+: [\w.@-]+ )?"
    r"(?:NIC )?[Ll]ink(?: is)? (?P<state>[Uu]p|[Dd]own)\b"
)
_PLAIN_LINK = re.compile(r"(?P<device>[\w.@-]+): (?:NIC )?[Ll]ink(?: is)? (?P<state>[Uu]p|[Dd]own)\b")
_NOT_A_NIC = re.compile(r"ata\d|pcieport|pciehp|nvidia|NVRM|usb|scsi|sas")
_KILLED = re.compile(r"Killed process (?P<pid>\d{1,9}),? (?:UID \d+,? )?\((?P<process>.*?)\)(?:,| total-vm|$)")
_MEMORY_FAILURE = re.compile(
    r"(?:Memory failure: 0x[0-9a-f]+|MCE(?: 0x[0-9a-f]+)?|mce): .*?[Kk]illing (?P<process>.+?):(?P<pid>\d{1,9}) "
)
_MCE = re.compile(
    r"(?:mce: )?\[Hardware Error\]: (?:CPU \d+: Machine [Cc]heck|Machine check events logged)"
    r"|(?:\{\d+\})?\[Hardware Error\]: Hardware error from APEI|EDAC \S+: \d+ [CU]E "
)
_AER = re.compile(
    rf"(?:(?P<port>\S+) (?P<at>{_PCI}): )?AER: .*?[Ee]rror.* received(?:(?::| from) (?:id=)?(?P<pci>{_PCI}))?"
)
_AER_FIRMWARE = re.compile(rf"(?P<driver>\S+) (?P<at>{_PCI}): (?:AER: )?aer_status: ")
_DPC = re.compile(rf"\S+ (?P<at>{_PCI}): DPC: containment event")
_FIRMWARE = re.compile(
    rf"(?P<driver>mlx5_core|bnxt_en) (?P<pci>{_PCI})(?: (?P<device>[\w.@-]+))?: .*?"
    r"(?:[Hh]ealth (?:issue observed|compromised)|health compromised|[Ff]atal (?:error|exception)|"
    r"[Ff]irmware (?:not responding|heartbeat|fatal|hang)|insufficient power on the PCIe slot)"
)
_STUCK_QUEUE = re.compile(
    r"NETDEV WATCHDOG: .*?(?P<device>[\w.@-]+) \((?P<driver>[\w-]+)\): transmit queue \d+ timed out"
)
_MODULE = re.compile(
    rf"mlx5_core (?P<pci>{_PCI})(?: (?P<device>[\w.@-]+))?: Port module event(?:\[error\])?: module \d+, "
    r"Cable (?:unplugged|error)"
)
_HUNG = re.compile(r"INFO: task (?P<process>.+):(?P<pid>\d{1,9}) blocked (?:in I/O wait )?for more than \d+ seconds")
_LOCKUP = re.compile(r"(?:watchdog: )?BUG: soft lockup - CPU#\d+ stuck for \d+s! \[(?P<process>.+):(?P<pid>\d{1,9})\]")
_SERVER = re.compile(r"(?:nfs|lockd): server (?P<device>\S+) (?:not responding|timed out)")
_DISK = re.compile(
    r"(?:blk_update_request: )?(?:[\w ]+ error|I/O error), dev (?P<device>[\w-]+), sector \d+"
    r"|nvme (?P<nvme>nvme\d+): (?:I/O (?:tag )?\d+ .*timeout|controller is down)"
    r"|(?:EXT4-fs error \(device (?P<ext4>[\w-]+)\)|XFS \((?P<xfs>[\w-]+)\): .*(?:[Cc]orruption|[Ss]hutting down))"
)
_SUPPRESSED = re.compile(r"(?P<device>[\w.:-]+): \d+ (?:callbacks|messages) suppressed")


def read_link(text: str) -> Fact | None:
    """A network interface whose carrier came or went."""
    found = _LINK.match(text) or _PLAIN_LINK.match(text)
    if found is None or _NOT_A_NIC.match(text):
        return None
    pci = found.groupdict().get("pci")
    return Fact(
        kind="link_up" if found["state"].lower() == "up" else "link_down",
        pci=pci_address(pci) if pci else None,
        device=found["device"],
        detail=text,
    )


def read_oom(text: str) -> Fact | None:
    """A process that was killed for memory; the lines around it are part of the same event."""
    if found := _KILLED.search(text):
        return Fact(kind="oom", pid=int(found["pid"]), process=found["process"], detail=text)
    if "no killable processes" in text:
        return Fact(kind="oom", detail=text)
    return None


def read_mce(text: str) -> Fact | None:
    """A machine check, a memory controller's error, or a process killed for broken memory."""
    if found := _MEMORY_FAILURE.match(text):
        return Fact(kind="mce", pid=int(found["pid"]), process=found["process"], detail=text)
    return Fact(kind="mce", detail=text) if _MCE.match(text) else None


def read_aer(text: str) -> Fact | None:
    """The first line of a PCIe error report. `pci` is the device that erred where it is named, else the port."""
    if found := _AER.match(text):
        pci = found["pci"] or found["at"]
        return Fact(kind="aer", pci=pci_address(pci) if pci else None, detail=text)
    if found := _AER_FIRMWARE.match(text) or _DPC.match(text):
        return Fact(kind="aer", pci=pci_address(found["at"]), detail=text)
    return None


def read_firmware(text: str) -> Fact | None:
    """A NIC whose firmware reports itself sick or no longer answers."""
    found = _FIRMWARE.match(text)
    if found is None:
        return None
    return Fact(kind="firmware", pci=pci_address(found["pci"]), device=found["device"], detail=text)


def read_stuck_queue(text: str) -> Fact | None:
    """A NIC that no longer sends: its driver resets it."""
    found = _STUCK_QUEUE.match(text)
    return None if found is None else Fact(kind="firmware", device=found["device"], detail=text)


def read_module(text: str) -> Fact | None:
    """A transceiver or cable that was pulled or is bad. An empty cage says so too, when the driver loads."""
    found = _MODULE.match(text)
    if found is None:
        return None
    return Fact(kind="transceiver", pci=pci_address(found["pci"]), device=found["device"], detail=text)


def read_hung_task(text: str) -> Fact | None:
    """A process that has waited for minutes in the kernel, or holds a CPU: why a rank may hang."""
    found = _HUNG.match(text) or _LOCKUP.match(text)
    if found is None:
        return None
    return Fact(kind="hung_task", pid=int(found["pid"]), process=found["process"], detail=text)


def read_storage(text: str) -> Fact | None:
    """A file server that does not answer, or a disk with errors: a cause of slow data and checkpoints."""
    if found := _SERVER.match(text):
        return Fact(kind="storage", device=found["device"], detail=text)
    if found := _DISK.match(text):
        return Fact(kind="storage", device=next(name for name in found.groups() if name), detail=text)
    return None


def read_suppressed(text: str) -> Fact | None:
    """The kernel held lines back: what is missing here may have happened."""
    found = _SUPPRESSED.match(text)
    return None if found is None else Fact(kind="suppressed", device=found["device"], detail=text)


HOST_READERS: tuple[Callable[[str], Fact | None], ...] = (
    read_link,
    read_oom,
    read_mce,
    read_aer,
    read_firmware,
    read_stuck_queue,
    read_module,
    read_hung_task,
    read_storage,
    read_suppressed,
)
