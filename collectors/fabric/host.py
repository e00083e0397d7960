"""What a host says of its own NICs: the GPUs by each, as links of the NIC's names to the NIC."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from collectors.contract.fabric import Link
from collectors.fabric.kept import text_of
from collectors.fabric.pci import PCI_DEVICES, Near, pci_path
from collectors.kernel.gpus import DRIVER_FOLDER, read_gpus
from collectors.links.told import changes

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def gpu_paths(gpu_map: Path | None, devices: Path = PCI_DEVICES) -> dict[str, tuple[str, ...]]:
    """UUID -> PCI path, of every GPU that the driver (or a map that names UUIDs and addresses) knows here."""
    try:
        known = read_gpus(gpu_map or DRIVER_FOLDER)
    except OSError:
        return {}
    found = {uuid: pci_path(devices / f"{address}.0") for address, uuid in known.items()}
    return {uuid: path for uuid, path in found.items() if path}


def own_links(
    names: Sequence[str], *, port: str, near: Near, node: str, kind: str, ts_us: int, cluster: str
) -> dict[str, Link]:
    """One link for each name that a cable may call the NIC by (interface, adapter, MAC address), by key.

    Both its ends are on the host: it says which port of the host the name is, and which GPUs are by it.
    """
    return {
        f"{cluster}/{node}/{name}": Link(
            cluster=cluster,
            ts_us=ts_us,
            device=node,
            port=name,
            far_device=node,
            far_port=port,
            far_kind="hca" if kind == "hca" else "nic",
            node=node,
            gpu_uuids=list(near.gpus),
            source="inventory",
        )
        for name in dict.fromkeys((port, *names))
    }


def changed(told: dict[str, Link], found: Mapping[str, Link], *, whole: bool = True) -> list[Link]:
    """The links that say something new; `told` is brought up to date. One that left is told as down.

    Not `whole`: what is missing was perhaps not asked, and is no news.
    """
    if not whole:
        found = {key: link for key, link in told.items() if link.up} | dict(found)
    newest = max((link.ts_us for link in found.values()), default=0)
    news = dict(changes(told, found, newest))
    told.update(news)
    return list(news.values())


def boot_epoch(path: Path = BOOT_ID) -> str:
    """A restart marker of the host's counters."""
    boot = text_of(path)
    return "" if boot is None else f"boot:{boot[:8]}"
