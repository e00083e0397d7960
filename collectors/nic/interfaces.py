"""The network interfaces of this host, as sysfs lists them."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from collectors.fabric.kept import names_in, text_of
from collectors.fabric.pci import LINK_FILES, MOST_FILES, link_value, pci_path
from collectors.infiniband.sysfs import File, list_device

NET = Path("/sys/class/net")
ETHERNET, INFINIBAND = "1", "32"
"""ARPHRD_* of linux/if_arp.h."""
STATE_FILES = ("speed", "operstate", "carrier_down_count", "carrier_changes")


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface. `files`: what is read each sweep besides the driver's statistics."""

    name: str
    index: str
    driver: str | None
    mac: str | None
    link_layer: str | None
    pci: tuple[str, ...]
    rdma: tuple[str, ...]
    """RDMA devices of the same function: `mlx5_0`."""
    files: tuple[File, ...]
    most: tuple[tuple[str, str], ...]
    """The PCIe link that the device could have."""


def listed(root: Path, patterns: list[str]) -> list[Interface]:
    """Those whose names match a pattern; without patterns the physical ones, which hang on a device of their own."""
    out = []
    for name in names_in(root):
        folder = root / name
        if any(fnmatchcase(name, p) for p in patterns) if patterns else _is_physical(folder):
            out.append(interface(folder, name))
    return out


def indices(root: Path) -> list[tuple[str, str | None]]:
    """Names and interface indices: an index is not used again, so a new one is a new interface."""
    return [(name, text_of(root / name / "ifindex")) for name in names_in(root)]


def interface(folder: Path, name: str) -> Interface:
    """Everything of one interface that does not change while it lives."""
    device = folder / "device"
    kind = text_of(folder / "type")
    driver = device / "driver"
    statistics = folder / "statistics"
    files = [File("netdev", n, str(folder / n)) for n in STATE_FILES if (folder / n).exists()]
    files += [File("netdev", n, str(statistics / n)) for n in names_in(statistics)]
    files += [File("pci_sysfs", n, str(device / n)) for n in LINK_FILES if (device / n).exists()]
    rdma = tuple(names_in(device / "infiniband"))
    port = (
        str(int(text_of(folder / "dev_port") or "0") + 1) if (text_of(folder / "dev_port") or "0").isdecimal() else "1"
    )
    for adapter in rdma:
        files += _rdma_files(device / "infiniband" / adapter, adapter, port)
    most = tuple((n, v) for n in MOST_FILES if (v := link_value(n, _bytes(device / n))) is not None)
    return Interface(
        name=name,
        index=text_of(folder / "ifindex") or "",
        driver=driver.resolve().name if driver.exists() else None,
        mac=text_of(folder / "address"),
        link_layer={ETHERNET: "ethernet", INFINIBAND: "infiniband"}.get(kind or ""),
        pci=pci_path(device) if device.exists() else (),
        rdma=rdma,
        files=tuple(files),
        most=most,
    )


def _is_physical(folder: Path) -> bool:
    """It hangs on a device, and is no virtual function that this host lends to its guests."""
    device = folder / "device"
    return device.exists() and not (device / "physfn").exists() and text_of(folder / "type") in (ETHERNET, INFINIBAND)


def _rdma_files(folder: Path, adapter: str, port: str) -> list[File]:
    """Hardware counters of the RDMA port behind the interface; where the adapter has one port, of that."""
    trees = [tree for tree in list_device(folder, adapter, 0) if tree.number is not None]
    mine = [tree for tree in trees if len(trees) == 1 or tree.number == port]
    return [file for tree in mine for file in tree.files if file.system.endswith("_hw_counters")]


def _bytes(path: Path) -> bytes | None:
    text = text_of(path)
    return None if text is None else text.encode()
