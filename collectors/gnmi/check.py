"""What `lockstep collect check` says of a switch over gNMI: what its first snapshot shows, and what detection lacks."""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from collectors.contract.beat import Beat
from collectors.contract.fabric import Link, PortScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.fabric.vocabulary import canonicals
from collectors.gnmi.service import first, tick
from collectors.gnmi.stream import Reporting, Stream
from collectors.gnmi.target import Target
from collectors.source import Sight

SOME = "its other counters"
LONGEST_S = 9.0
"""For one target, all modes together."""
_NEEDS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "port counters",
        ("port_rx_bytes",),
        "see that the account may read /interfaces, and that the preset is the switch's",
    ),
    (
        "drops by queue or priority",
        (
            "queue_drop_packets",
            "queue_tail_drop_packets",
            "pg_drop_packets",
            "prio_rx_discard_packets",
            "voq_drop_packets",
        ),
        "without them no drop can be called a lossless one: switch queue counters on, or take the vendor's preset",
    ),
    (
        "PFC counters",
        ("pfc_rx_frames", "pfc_rx_pause_us", "pfc_rx_pause_ns"),
        "OpenConfig has none: take the preset of the vendor, or read them over SNMP or from the hosts' NICs",
    ),
)


class _Kept:
    """An outlet that keeps what one look brings."""

    def __init__(self) -> None:
        self.scrapes: list[PortScrape] = []
        self.links: list[Link] = []
        self.error = ""

    def publish(self, topic: Topic[Any], message: Message) -> None:
        """Keep it."""
        del topic
        if isinstance(message, PortScrape):
            self.scrapes.append(message)
        elif isinstance(message, Link):
            self.links.append(message)

    async def deliver(self, messages: Sequence[tuple[Topic[Any], Message]]) -> bool:
        """Keep them."""
        for topic, message in messages:
            self.publish(topic, message)
        return True

    def beat(self, beat: Beat) -> None:
        """Keep why it failed."""
        self.error = beat.error or self.error

    def reject(self, source: str, raw: bytes, why: str) -> None:
        """Keep why."""
        del source, raw
        self.error = why


async def look_at(targets: Sequence[Target], interval_s: float) -> list[Sight]:
    """All switches at the same time, their sights in order."""
    found = await asyncio.gather(*(look(target, interval_s) for target in targets))
    return [sight for sights in found for sight in sights]


async def look(target: Target, interval_s: float) -> list[Sight]:
    """Ask one switch for a snapshot; one that gives none is a Sight that says why."""
    kept = _Kept()
    shared = Reporting(outlet=kept, collector="check", cluster="check", interval_s=interval_s)
    stream = Stream(target, shared, mode="ONCE")
    clock = asyncio.create_task(tick([stream], min(interval_s, 1.0)))
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_S):
                await first(stream)
    finally:
        clock.cancel()
        await asyncio.gather(clock, return_exceptions=True)
    name = f"{target.name}={target.address}"
    if not kept.scrapes:
        why = kept.error or f"nothing within {LONGEST_S:g} s"
        return [Sight(name, False, "nothing", why, _advice(why))]
    return list(_sights(name, target, kept))


def _advice(why: str) -> str:
    if "UNAUTHENTICATED" in why or "PERMISSION_DENIED" in why:
        return "give --username and LOCKSTEP_GNMI_PASSWORD or --password-file of an account that may read"
    if "UNAVAILABLE" in why and any(word in why.lower() for word in ("ssl", "tls", "handshake", "certificate")):
        return (
            "give --ca FILE that signs the switch's certificate, --tls-name where it names another; plain: --insecure"
        )
    if "UNAVAILABLE" in why:
        return "turn gNMI on (docs/switches.md has the lines for each vendor), and see that its port can be reached"
    if "UNIMPLEMENTED" in why or "INVALID_ARGUMENT" in why or "NOT_FOUND" in why:
        return "the switch knows no such path: take the preset of its vendor, or a copy of it without that path"
    return "see that the preset is the switch's, and that the account may read its paths"


def _sights(name: str, target: Target, kept: _Kept) -> Iterator[Sight]:
    scrape = kept.scrapes[-1]
    there = {column.partition(".")[0] for column in scrape.columns}
    told = f"{len(scrape.ports)} rows of ports and parts, {len(scrape.columns)} counters"
    if kept.links:
        told += f", {len(kept.links)} neighbours"
    unknown = [name for name in scrape.named if name.partition(".")[0] not in canonicals()]
    if unknown:
        told += f", {len(unknown)} names that no table knows"
    yield Sight(name, True, told)
    for what, columns, advice in _NEEDS:
        if not there & set(columns):
            yield Sight(name, False, SOME, what, advice)
    if target.site.lossless is None:
        yield Sight(
            name, False, SOME, "which priorities are lossless", "give --lossless 3, or `lossless = [3]` in the file"
        )
    if not kept.links:
        advice = "run lldpd on the hosts and LLDP on the switch, or give a cable file (`lockstep collect links`)"
        yield Sight(name, True, SOME, "neighbours", advice)
    for what, why in scrape.errors.items():
        yield Sight(name, False, SOME, f"{what}: {why}", "see `lockstep collect gnmi --once` for the values")
