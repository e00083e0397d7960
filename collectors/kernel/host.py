"""Messages about the rest of the host: NIC links, memory, machine checks, PCIe errors, lines held back.

Forms: the Linux drivers' own format strings (mlx5_core, bnxt_en, ice, i40e, ixgbe, igb, tg3, r8169), mm/oom_kill.c,
arch/x86 mce, drivers/edac, drivers/pci/pcie/{aer,dpc}.c, lib/ratelimit.c.
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
    r"[Ff]irmware (?:not responding|heartbeat|fatal|hang))"
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
    read_suppressed,
)
