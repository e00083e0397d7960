"""What the fabric's detectors share: who a port is, and its open episodes."""

from collections.abc import Callable, MutableMapping
from functools import lru_cache
from typing import TypeVar

import msgspec

from collectors.contract.fabric import PortScrape
from streams.contract import Finding, Subject
from streams.episodes import Damping, Episodes
from streams.successors import heirs_of_ports

K = TypeVar("K")
V = TypeVar("V")
MOST_INDEX = 64
"""No device has more priorities, queues or lanes in a port; a name with a larger index is no counter of ours."""
STORMED = 1
"""`pfcwd_state`: 0 operational, 1 stormed."""


def port_subject(scrape: PortScrape, port: str, priority: int | None = None) -> Subject:
    """A port of a device."""
    return Subject(
        kind="port",
        id=f"{scrape.device}/{port}",
        device=scrape.device,
        port=port,
        node=scrape.node,
        priority=priority,
    )


def report(episodes: Episodes, name: str, finding: Finding, damping: Damping) -> Finding | None:
    """As `Episodes.report`. Two episodes of a port that begin in one scrape must not share a start: it is part of
    their key, and their priority is not."""
    if name in episodes.open:
        return episodes.report(name, finding, damping)
    begun = {f.episode_us for f in episodes.open.values() if f.subject.id == finding.subject.id}
    start_us = finding.episode_us
    while start_us in begun:
        start_us += 1
    return episodes.report(name, msgspec.structs.replace(finding, episode_us=start_us), damping)


def replaced(episodes: Episodes, scrape: PortScrape) -> tuple[list[Finding], set[str]]:
    """End the episodes of ports that were split or joined since; the edges, and those ports."""
    of_device = {
        name: f
        for name, f in episodes.open.items()
        if f.subject.port is not None and f.subject.device == scrape.device and f.ts_us < scrape.ts_us
    }
    heirs = heirs_of_ports(scrape, {f.subject.port for f in of_device.values() if f.subject.port}) if of_device else {}
    edges = [
        episodes.replace(name, scrape.ts_us, heirs[f.subject.port])
        for name, f in of_device.items()
        if f.subject.port in heirs
    ]
    return [edge for edge in edges if edge is not None], set(heirs)


def make_room(seen: MutableMapping[K, V], most: int, read_us: Callable[[V], int]) -> None:
    """Forget the part that was read longest ago where `most` are remembered: ports come and go with breakouts."""
    if len(seen) >= most:
        del seen[min(seen, key=lambda name: read_us(seen[name]))]


@lru_cache(maxsize=65536)
def split(column: str) -> tuple[str, int | None]:
    """`queue_drop_packets.3` -> the counter and its index; what has no sound index stays whole."""
    base, dot, index = column.partition(".")
    if not dot:
        return column, None
    return (base, int(index)) if index.isdecimal() and len(index) < 3 and int(index) < MOST_INDEX else (column, None)
