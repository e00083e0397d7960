"""The tree of /sys/class/infiniband: which files there are, and what they say now."""

from dataclasses import dataclass, field
from pathlib import Path

from collectors.fabric.kept import Kept, names_in, text_of
from collectors.fabric.pci import LINK_FILES, MOST_FILES, link_value, pci_path
from collectors.infiniband.drivers import hw_system

CLASS = Path("/sys/class/infiniband")
PORT_FILES = ("state", "phys_state", "rate", "link_layer")
UNKNOWN = "unknown_hw_counters"
"""Counters of a driver that no table knows: kept under their own names."""


@dataclass(frozen=True, slots=True)
class File:
    """One value: the table that knows it, its name there, and where it is read."""

    system: str
    native: str
    path: str


@dataclass(frozen=True, slots=True)
class PortTree:
    """The files of one port; `number` None: those of the device as a whole."""

    device: str
    number: str | None
    files: tuple[File, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """What does not change: type, firmware, driver, PCI address."""
    most: tuple[tuple[str, str], ...] = ()
    """The PCIe link that the device could have."""
    pci: tuple[str, ...] = ()
    born: str = ""
    """Changes when the driver made the device anew: its counters began again."""
    netdevs: tuple[str, ...] = ()


@dataclass(slots=True)
class Told:
    """What a port's files said. None: could not be read."""

    tree: PortTree
    values: list[tuple[File, bytes | None]] = field(default_factory=list)


class Sysfs:
    """The tree, listed when devices come or go, its files kept open. Raises `OSError` where there is no tree."""

    def __init__(self, root: Path, kept: Kept | None = None) -> None:
        self._root = root / "class" / "infiniband" if (root / "class" / "infiniband").is_dir() else root
        self._kept = kept if kept is not None else Kept()
        self._seen: list[tuple[str, int]] | None = None
        self._ports: list[PortTree] = []

    @property
    def bytes(self) -> int:
        """Of the values that were read so far."""
        return self._kept.bytes

    def read(self) -> list[Told]:
        """Every port as it stands now. A device that vanishes meanwhile is not told, or told in part."""
        seen = self._look()
        if seen != self._seen or self._kept.gone:
            self._kept.close()
            self._kept.gone = False
            self._ports = [port for name, inode in seen for port in list_device(self._root / name, name, inode)]
            self._seen = seen
        return [Told(port, [(f, self._kept.read(f.path)) for f in port.files]) for port in self._ports]

    def close(self) -> None:
        """Close every file."""
        self._kept.close()

    def _look(self) -> list[tuple[str, int]]:
        found = []
        for folder in sorted(self._root.iterdir()):
            try:
                found.append((folder.name, folder.stat().st_ino))
            except FileNotFoundError:
                continue
        return found


def list_device(folder: Path, name: str, inode: int) -> list[PortTree]:
    """Its ports, and the device itself where it keeps counters that are of no port."""
    pci_folder = folder / "device"
    driver = _driver(pci_folder)
    hca_type = text_of(folder / "hca_type")
    pci = pci_path(pci_folder) if pci_folder.exists() else ()
    facts = [(n, t) for n in ("hca_type", "fw_ver", "board_id") if (t := text_of(folder / n))]
    extra = [("driver", driver)] if driver else []
    extra += [("pci", pci[-1])] if pci else []
    most = tuple((n, v) for n in MOST_FILES if (v := link_value(n, _bytes(pci_folder / n))) is not None)
    link = tuple(File("pci_sysfs", n, str(pci_folder / n)) for n in LINK_FILES if (pci_folder / n).exists())
    netdevs = tuple(names_in(pci_folder / "net"))
    ports = []
    for number in sorted(names_in(folder / "ports"), key=lambda n: (len(n), n)):
        port = folder / "ports" / number
        files = [File("ib_sysfs", n, str(port / n)) for n in PORT_FILES if (port / n).exists()]
        files += _counters(port / "counters")
        files += _hw(port / "hw_counters", driver, name, hca_type)
        ports.append(PortTree(name, number, (*files, *link), (*facts, *extra), most, pci, f"dev:{inode}", netdevs))
    own = _hw(folder / "hw_counters", driver, name, hca_type)
    if own:
        ports.append(PortTree(name, None, tuple(own), tuple(facts), born=f"dev:{inode}"))
    return ports


def _counters(folder: Path) -> list[File]:
    """Without the extended set, data and packets have 32 bits, and there are no unicast files (kernel sysfs.c)."""
    names = names_in(folder)
    wide = any(name.startswith("unicast_") for name in names)
    return [
        File("ib_sysfs" if wide or not _narrow(name) else "ib_sysfs/32", name, str(folder / name)) for name in names
    ]


def _narrow(name: str) -> bool:
    return name in ("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets")


def _hw(folder: Path, driver: str | None, device: str, hca_type: str | None) -> list[File]:
    names = names_in(folder)
    system = hw_system(driver, device, hca_type, names) or UNKNOWN
    return [File(system, name, str(folder / name)) for name in names]


def _driver(pci: Path) -> str | None:
    link = pci / "driver"
    return link.resolve().name if link.exists() else None


def _bytes(path: Path) -> bytes | None:
    text = text_of(path)
    return None if text is None else text.encode()
