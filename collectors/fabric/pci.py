"""PCI devices of this host: their links, and which GPUs sit by which NIC."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PCI_DEVICES = Path("/sys/bus/pci/devices")
LINK_FILES = ("current_link_speed", "current_link_width")
MOST_FILES = ("max_link_speed", "max_link_width")
NVIDIA, DISPLAY_3D, DISPLAY_VGA = "0x10de", "0x0302", "0x0300"

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}", re.IGNORECASE)
_SPEED = re.compile(r"(\d+(?:\.\d+)?) GT/s")


@dataclass(frozen=True, slots=True)
class Near:
    """The GPUs closest to a NIC. `level`: `switch` below one PCIe switch, `bridge` below one host bridge."""

    gpus: tuple[str, ...] = ()
    level: str = ""


def pci_path(device: Path) -> tuple[str, ...]:
    """From the host bridge down to the device: `pci0000:15, 0000:15:01.0, 0000:16:00.0`. Empty: no PCI device."""
    parts = [p for p in device.resolve().parts if _ADDRESS.fullmatch(p) or _BRIDGE.fullmatch(p)]
    return tuple(part.lower() for part in parts)


def link_value(name: str, raw: bytes | None) -> str | None:
    """`32.0 GT/s PCIe` -> `32.0`; a width as it stands. `Unknown` and width 0 (a link that is down) are None."""
    if raw is None:
        return None
    text = raw.decode("ascii", "replace")
    if name.endswith("speed"):
        found = _SPEED.match(text)
        return found[1] if found else None
    return text if text.isdecimal() and int(text) else None


def near(nic: Sequence[str], gpus: Mapping[str, Sequence[str]]) -> Near:
    """The GPUs that share most of a NIC's way up. Paths as `pci_path` gives them.

    Sharing a host bridge says something only where the bridge does not hold every GPU: in a virtual machine
    one bridge holds all there is. Nothing is said of GPUs behind other bridges.
    """
    shared = {gpu: _common(nic, path) for gpu, path in gpus.items()}
    deepest = max(shared.values(), default=0)
    closest = tuple(sorted(gpu for gpu, depth in shared.items() if depth == deepest))
    if deepest >= 2:
        return Near(closest, "switch")
    if deepest == 1 and (len(closest) < len(gpus) or len(gpus) == 1):
        return Near(closest, "bridge")
    return Near()


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    depth = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        depth += 1
    return depth
