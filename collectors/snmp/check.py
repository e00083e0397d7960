"""What each switch shows over SNMP, and what detection misses there."""

import argparse
import asyncio
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from collectors.contract.fabric import PortScrape
from collectors.snmp.agent import AgentError
from collectors.snmp.post import Post
from collectors.snmp.presets import Preset, chosen, presets
from collectors.snmp.recorded import read_file, why_bad
from collectors.snmp.service import open_post, open_switch
from collectors.snmp.sweep import Swept
from collectors.snmp.target import Target, targets
from collectors.source import Sight, SourceError

LONGEST_S = 10.0


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """A line a switch or walk, and one a lack. Raises `SourceError` only for options that cannot be used."""
    if args.file:
        return [sight for path in args.file for sight in _walk(path, args)]
    found = targets(args)
    return asyncio.run(_all(args, found))


def _walk(path: Path, args: argparse.Namespace) -> list[Sight]:
    preset = chosen(presets(args.presets), args.preset, "--preset")
    try:
        scrape, links, bad = read_file(path, args)
    except SourceError as why:
        return [Sight(str(path), False, "nothing", "a switch", str(why))]
    sights_of = list(sights(str(path), preset, Swept(scrape, links, 0), None))
    if bad:
        sights_of.append(Sight(str(path), False, "the rest", f"{len(bad)} lines", why_bad(bad)))
    return sights_of


async def _all(args: argparse.Namespace, found: list[Target]) -> list[Sight]:
    post = open_post(lambda address, raw, why: None)
    try:
        seen = await asyncio.gather(*(_look(post, args, target) for target in found))
    finally:
        post.close()
    return [sight for sights in seen for sight in sights]


async def _look(post: Post, args: argparse.Namespace, target: Target) -> list[Sight]:
    name, began_s = f"{target.name} {target.address}", time.monotonic()
    try:
        async with asyncio.timeout(LONGEST_S):
            switch = await open_switch(post, args, target)
            swept = await switch.sweep()
    except AgentError as why:
        return [Sight(name, False, "nothing", "an answer", str(why))]
    except TimeoutError:
        advice = "ask for less: --varbinds 30, or a preset that reads fewer tables"
        return [Sight(name, False, "nothing whole", f"an end within {LONGEST_S:g} s", advice)]
    return list(sights(name, target.preset, swept, time.monotonic() - began_s))


def sights(name: str, preset: Preset, swept: Swept, seconds: float | None) -> Iterator[Sight]:
    """What one sweep showed; None: it was a walk, which took nobody's time."""
    scrape, columns = swept.scrape, swept.scrape.columns
    counters = sum(any(value is not None for value in values) for values in columns.values())
    linked = len({link.port for link in swept.links})
    seen = f"{len(scrape.ports)} rows, {counters} counters, {linked} neighbours"
    seen += "" if seconds is None else f", in {seconds:.1f} s"
    yield Sight(name, swept.error is None, seen, advice=swept.error or "")
    for column, why in scrape.errors.items():
        if column != "sweep":
            yield Sight(name, False, seen, column, f"the agent is odd there: {why}")
    yield from _lacks(name, preset, scrape, linked)


def _lacks(name: str, preset: Preset, scrape: PortScrape, linked: int) -> Iterator[Sight]:
    def has(*begins: str) -> bool:
        return any(
            column.startswith(begins) and any(value is not None for value in values)
            for column, values in scrape.columns.items()
        )

    if not has("port_rx_bytes"):
        advice = "give this community or user a view of ifXTable, 1.3.6.1.2.1.31.1.1"
        yield Sight(name, False, "32-bit counters", "64-bit traffic counters", advice)
    if not has("queue_drop", "queue_tail_drop", "pg_drop"):
        advice = f"preset {preset.name} has none: take mellanox, cumulus or sonic, your own, or gNMI"
        yield Sight(name, False, "discards of whole ports", "drops by queue or priority group", advice)
    if not has("pfc_rx_frames."):
        advice = f"preset {preset.name} has none there: take mellanox, cumulus or sonic, your own, or gNMI"
        yield Sight(name, False, "pause of whole ports at most", "PFC by priority", advice)
    if preset.neighbours and not linked:
        advice = "switch LLDP on, and give a view of 1.0.8802.1.1.2; or tell the cables by a file (source `links`)"
        yield Sight(name, False, "ports", "neighbours", advice)
    if preset.sensors and not has("optic_", "module_temperature"):
        advice = "give a view of 1.3.6.1.2.1.47 and .99; copper cables have no optics"
        yield Sight(name, True, "ports", "optics", advice)
