"""What a kernel message says, without where and when."""

from dataclasses import dataclass

from collectors.contract.kernel import KernelKind


class UnreadableLine(Exception):
    """A line that should be an event and cannot be read; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """The fields of a `KernelEvent` that come from the text."""

    kind: KernelKind
    code: int | None = None
    pci: str | None = None
    mig: str | None = None
    device: str | None = None
    pid: int | None = None
    process: str | None = None
    detail: str | None = None


def pci_address(text: str) -> str:
    """`domain:bus:device`, lower case, domain of four digits: function and NVML's zeros go. Raises `UnreadableLine`."""
    parts = text.lower().split(".")[0].split(":")
    if len(parts) == 2:
        parts = ["0", *parts]
    try:
        domain, bus, device = (int(part, 16) for part in parts)
    except ValueError as why:
        raise UnreadableLine(f"not a PCI address: {text}") from why
    return f"{domain:04x}:{bus:02x}:{device:02x}"
