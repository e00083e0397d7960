"""A saved text of `ethtool -S`, at its file's time."""

import argparse
from collections.abc import Awaitable, Callable
from pathlib import Path

from collectors.contract.fabric import Port
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.fabric.rows import Device, samples, scrapes
from collectors.fabric.site import site_of
from collectors.fabric.sweeping import Swept
from collectors.nic.rows import statistics_row
from collectors.nic.text import read_ethtool
from collectors.settings import this_node
from collectors.whole_file import read_whole

MOST_BYTES = 64 << 20
SHOWN_BYTES = 4096


def read_saved(path: Path, args: argparse.Namespace) -> Callable[[], Awaitable[Swept]]:
    """What sweeps the file."""

    async def sweep() -> Swept:
        raw, ts_us = read_whole(path, MOST_BYTES)
        lossless = site_of(args.lossless, ()).lossless
        port = Port(
            name=args.port or ("nic" if str(path) == "-" else path.stem),
            link_layer="ethernet",
            lossless=None if lossless is None else list(lossless),
        )
        device = Device(
            name=this_node(args.node),
            kind="nic",
            node=this_node(args.node),
            cluster=kafka_settings().cluster,
            ts_us=ts_us,
            keep_ignored=True,
        )
        return swept_text(raw, port, args.driver, device)

    return sweep


def swept_text(raw: bytes, port: Port, driver: str | None, device: Device) -> Swept:
    """The message of one text; `error` where there is no statistic in it."""
    values, unread = read_ethtool(raw.decode("utf-8", "replace"))
    out = Swept(subject=device.name)
    if unread:
        why, line = unread[0]
        out.rejects.append(
            (line.encode()[:4096], why if len(unread) == 1 else f"{len(unread)} lines, the first: {why}")
        )
    if not values:
        out.error = "no statistic in it: is this the output of `ethtool -S`?"
        return out
    found = scrapes([statistics_row(port, driver, list(values))], device)
    out.messages = [(FABRIC_SCRAPES, scrape) for scrape in found]
    out.samples = sum(map(samples, found))
    return out
