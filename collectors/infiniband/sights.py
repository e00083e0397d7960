"""What `lockstep collect check` says of InfiniBand: one sweep a target, and what its ports lack."""

import argparse
import asyncio
from collections.abc import Iterator
from dataclasses import replace

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_LINKS
from collectors.fabric.sweeping import Swept, said
from collectors.infiniband.targets import Target, targets
from collectors.source import Sight

CHECK_S = 10.0
FATAL = {
    "sysfs": "load the driver (mlx5_ib, bnxt_re, irdma, efa), or give another folder with --sysfs",
    "sweep": "run it on a host with an active port and a subnet manager, as a user that may open /dev/infiniband/umad*",
    "ufm": "see the address, and that telemetry is on in UFM",
}
SATURATED = "clear them (`perfquery -R LID PORT`), at one place only, and read the 64-bit set where there is one"
LOST_AFTER = "ib_tx_discard_packets"


def sights(args: argparse.Namespace) -> Iterator[Sight]:
    """Within some ten seconds a target."""
    args = argparse.Namespace(**{**vars(args), "timeout": min(args.timeout, CHECK_S / 3)})
    for target in targets(args, once=True):
        yield from _look(target)


def _look(target: Target) -> Iterator[Sight]:
    async def once() -> Swept:
        async with asyncio.timeout(CHECK_S):
            return await target.sweep()

    try:
        swept = asyncio.run(once())
    except TimeoutError as why:
        yield _nothing(target, str(why) or f"no answer within {CHECK_S:g} s")
        return
    except OSError as why:
        yield _nothing(target, said(why))
        return
    scrapes = [message for _, message in swept.messages if isinstance(message, PortScrape)]
    if not scrapes:
        yield _nothing(target, swept.error or "no port in it")
        return
    links = sum(topic is FABRIC_LINKS for topic, _ in swept.messages)
    ports = sum(port.link_layer is not None for scrape in scrapes for port in scrape.ports)
    words = f"{ports} ports of {len({scrape.device for scrape in scrapes})} devices, {swept.samples} values"
    whole = Sight(target.name, True, words + (f", {links} cables" if links else ""))
    if swept.error is not None:
        yield replace(whole, ok=False, lacks=swept.error, advice=FATAL.get(target.kind, "see the file"))
    else:
        yield whole
    yield from _lacks(target, scrapes)


def _nothing(target: Target, why: str) -> Sight:
    return Sight(target.name, False, "nothing", why, FATAL.get(target.kind, "give the output as the tool printed it"))


def _lacks(target: Target, scrapes: list[PortScrape]) -> Iterator[Sight]:
    ends = [f"{name} of {_at(s, i)}" for s in scrapes for name, row in s.saturated.items() for i in _there(row)]
    if ends:
        yield Sight(target.name, False, "counters", f"{_few(ends)}: stopped at their end, so blind", SATURATED)
    slow = [_at(s, i) for s in scrapes for i in _there(s.named.get("link_degraded", []))]
    if slow:
        yield Sight(
            target.name, False, "links", f"{_few(slow)}: slower or narrower than both ends could", "reseat the cable"
        )
    narrow = [
        _at(s, i)
        for s in scrapes
        for now, most in (("pcie_link_width", "pcie_max_link_width"), ("pcie_link_gts", "pcie_max_link_gts"))
        for i, (a, b) in enumerate(zip(s.columns.get(now, []), s.columns.get(most, []), strict=False))
        if a is not None and b is not None and a < b
    ]
    if narrow:
        yield Sight(
            target.name, False, "PCIe", f"{_few(narrow)}: link below what the device could", "see slot, riser and BIOS"
        )
    if target.kind in ("sysfs", "sweep") and not any(LOST_AFTER in s.columns for s in scrapes):
        yield Sight(target.name, False, "ports", "no PortXmitDiscards, so no loss can be seen", "see the driver's PMA")


def _at(scrape: PortScrape, row: int) -> str:
    return f"{scrape.device}/{scrape.ports[row].name}"


def _there(row: "list[int | float | str | None] | list[int | float | None]") -> list[int]:
    return [i for i, value in enumerate(row) if value is not None]


def _few(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct[:3]) + (f" and {len(distinct) - 3} more" if len(distinct) > 3 else "")
