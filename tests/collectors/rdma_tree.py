"""A tree such as /sys/class/infiniband and the devices that it points at."""

from collections.abc import Mapping
from pathlib import Path

PORT = {
    "state": "4: ACTIVE\n",
    "phys_state": "5: LinkUp\n",
    "rate": "400 Gb/sec (4X NDR)\n",
    "link_layer": "InfiniBand\n",
    "counters/symbol_error": "0\n",
    "counters/port_xmit_discards": "7\n",
    "counters/port_xmit_data": "230442669431839\n",
    "counters/unicast_rcv_packets": "5\n",
}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Files by path below the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def device(
    root: Path,
    name: str,
    files: Mapping[str, str],
    *,
    driver: str | None = "mlx5_core",
    pci: str = "pci0000:15/0000:15:01.0/0000:16:00.0",
) -> Path:
    """One RDMA device below `root/class/infiniband`, with its PCI device and driver."""
    folder = root / "devices" / pci
    write(folder, {"current_link_speed": "32.0 GT/s PCIe\n", "current_link_width": "8\n"})
    write(folder, {"max_link_speed": "32.0 GT/s PCIe\n", "max_link_width": "16\n"})
    if driver is not None:
        (root / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        if not (folder / "driver").exists():
            (folder / "driver").symlink_to(root / "drivers" / driver)
    write(folder / "infiniband" / name, files)
    (folder / "infiniband" / name / "device").symlink_to(folder)
    known = root / "class" / "infiniband"
    known.mkdir(parents=True, exist_ok=True)
    (known / name).symlink_to(folder / "infiniband" / name)
    return folder / "infiniband" / name


def port(files: Mapping[str, str] = PORT, number: int = 1) -> dict[str, str]:
    """The files of one port, below its device."""
    return {f"ports/{number}/{name}": text for name, text in files.items()}
