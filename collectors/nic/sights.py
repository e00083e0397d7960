"""What `lockstep collect check` says of NICs: what each interface gives, and what it lacks."""

import argparse
import asyncio
from collections.abc import Iterator
from dataclasses import replace

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_LINKS
from collectors.fabric.sweeping import Aside, said
from collectors.nic.host import Nics
from collectors.nic.names import BY_DRIVER
from collectors.source import Sight

CHECK_S = 10.0
PFC_DRIVERS = ("mlx5_core", "bnxt_en")


def sights(args: argparse.Namespace, nics: Nics) -> Iterator[Sight]:
    """Within ten seconds; a saved text has nothing to look at."""
    target = str(args.sysfs)
    aside = Aside()

    async def read() -> "list[object]":
        async with asyncio.timeout(CHECK_S):
            swept = await aside(nics.read)
        return [swept.error, swept.messages, swept.samples]

    try:
        error, messages, samples = asyncio.run(read())
    except TimeoutError:
        yield Sight(target, False, "nothing", f"no answer within {CHECK_S:g} s", "see the kernel log: a driver hangs")
        return
    except OSError as why:
        yield Sight(target, False, "nothing", said(why), "is sysfs mounted?")
        return
    assert isinstance(messages, list)
    found = [message for _, message in messages if isinstance(message, PortScrape)]
    links = sum(topic is FABRIC_LINKS for topic, _ in messages)
    names = [port.name for scrape in found for port in scrape.ports]
    words = f"{len(names)} interfaces, {samples} values, {links} names of NICs that GPUs are by"
    whole = Sight(target, bool(names), words if names else "nothing")
    yield whole if error is None else replace(whole, ok=False, lacks=str(error), advice="see ethtool -S")
    for scrape in found:
        for row, port in enumerate(scrape.ports):
            yield from _of(scrape, row, port.name)
    if found and not links:
        yield Sight(
            target,
            False,
            "NICs",
            "no GPU is known here, so no cable leads to a rank",
            "load the NVIDIA driver, or give --gpu-map with the output of "
            "`nvidia-smi --query-gpu=pci.bus_id,uuid --format=csv`",
        )


def _of(scrape: PortScrape, row: int, name: str) -> Iterator[Sight]:
    driver = _told(scrape, "driver", row)
    if driver is not None and driver not in BY_DRIVER:
        yield Sight(name, True, f"driver {driver}: its statistics under their own names, the kernel's as counters")
    if driver in PFC_DRIVERS and not any(
        column.startswith("pfc_rx_frames.") and values[row] is not None for column, values in scrape.columns.items()
    ):
        yield Sight(
            name, False, f"driver {driver}", "no pause counter of a priority", "switch PFC on for the lossless priority"
        )
    for now, most, what in (
        ("pcie_link_width", "pcie_max_link_width", "lanes"),
        ("pcie_link_gts", "pcie_max_link_gts", "GT/s"),
    ):
        a, b = (scrape.columns.get(column, [None] * (row + 1))[row] for column in (now, most))
        if a is not None and b is not None and a < b:
            yield Sight(name, False, f"PCIe {a:g} {what}", f"it could have {b:g}", "see the slot, riser and BIOS")


def _told(scrape: PortScrape, name: str, row: int) -> object:
    values = scrape.named.get(name)
    return None if values is None else values[row]
