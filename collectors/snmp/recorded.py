"""Walks written to files: what an agent had, at the time at which the file was written."""

import argparse
from pathlib import Path

from collectors.contract.fabric import Link, PortScrape
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.cables import Cables
from collectors.fabric.series import Site
from collectors.fabric.site import site_of
from collectors.snmp.layout import all_columns, heard, learn
from collectors.snmp.mib import SYS_NAME, UPTIME
from collectors.snmp.presets import Preset, chosen, presets
from collectors.snmp.tables import gathered, words
from collectors.snmp.uptime import Uptime
from collectors.snmp.value import Varbind
from collectors.snmp.walk_text import BadLine, read_walk
from collectors.source import Outlet, SourceError
from collectors.whole_file import read_whole

MOST_BYTES = 256 << 20
"""A walk of everything that a switch of 512 ports has is some 50 MB."""


def replay(args: argparse.Namespace, outlet: Outlet) -> int:
    """One scrape a file, and its links. Returns the number of messages. Raises `SourceError`."""
    count = 0
    for path in args.file:
        scrape, links, bad = read_file(path, args)
        if bad:
            text = "\n".join(line.text for line in bad)
            outlet.reject(f"snmp:{path}", text.encode("utf-8", "surrogateescape"), why_bad(bad))
        outlet.publish(FABRIC_SCRAPES, scrape)
        for link in links:
            outlet.publish(FABRIC_LINKS, link)
        count += 1 + len(links)
    return count


def read_file(path: Path, args: argparse.Namespace) -> tuple[PortScrape, list[Link], list[BadLine]]:
    """What a file says, and the lines that say nothing. Raises `SourceError` where there is no switch in it."""
    preset = chosen(presets(args.presets), args.preset, "--preset")
    raw, ts_us = read_whole(path, MOST_BYTES)
    varbinds, bad = read_walk(raw.decode("utf-8", "surrogateescape"))
    if not varbinds:
        first = f"; {why_bad(bad)}" if bad else ""
        raise SourceError(f"{path}: no entry in it{first}; write it with `snmpwalk -On -v2c -c COMMUNITY HOST .1`")
    scrape, links = read_walked(
        varbinds,
        preset,
        device=args.device,
        otherwise=path.stem,
        ts_us=ts_us,
        cluster=kafka_settings().cluster,
        site=site_of(args.lossless, ()),
    )
    if not scrape.ports:
        raise SourceError(f"{path}: {len(varbinds)} entries, and no port with a counter of preset {preset.name}")
    return scrape, links, bad


def why_bad(bad: list[BadLine]) -> str:
    """The first line that could not be read, and how many."""
    first = f"line {bad[0].line}: {bad[0].why}"
    return first if len(bad) == 1 else f"{len(bad)} lines could not be read; {first}"


def read_walked(
    varbinds: list[Varbind],
    preset: Preset,
    *,
    device: str | None,
    otherwise: str,
    ts_us: int,
    cluster: str = "default",
    site: Site = Site(),  # noqa: B008 (frozen)
) -> tuple[PortScrape, list[Link]]:
    """What a walk says. Pure."""
    from msgspec.structs import replace

    tables = gathered(varbinds, all_columns(preset))
    layout = learn(tables, preset, site=site, interval_us=0, keep_ignored=True)
    stamp = (ts_us * 1000, layout.grid.round)
    scalars = {varbind.name: varbind.value for varbind in varbinds if varbind.name in (UPTIME, SYS_NAME)}
    for varbind in varbinds:
        layout.take(varbind, stamp)
    uptime = Uptime()
    if isinstance(ticks := scalars.get(UPTIME), int):
        uptime.hear(ticks, 0.0, ts_us)
    name = device or words(scalars.get(SYS_NAME)) or otherwise
    scrape = replace(layout.grid.cut(name, ts_us, cluster=cluster), epoch=uptime.epoch)
    links = Cables().changes(name, ts_us, cluster, heard(tables, layout)) if preset.neighbours else []
    return scrape, links
