"""What `lockstep collect check` says of exporters: what their pages show, what they lack, what to switch on."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from collectors.contract.beat import Beat
from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.dcgm.fields import fields_by_name
from collectors.source import Sight

LIMIT_S = 10.0
"""Longest wait for a page."""
Need = tuple[str, tuple[tuple[str, ...], ...]]
NEEDS: tuple[Need, ...] = (
    ("temperature, power and clocks", (("100",), ("150", "153"), ("155", "157"), ("156",))),
    ("throttling and its cause", (("112",), ("240", "1420"), ("241", "1422"))),
    ("busy or waiting", (("1002", "1001", "203"),)),
    ("memory errors", (("310", "312"), ("311", "313"))),
    ("memory rows to remap", (("393", "391"), ("395", "392"), ("396", "392"), ("346", "391"))),
)
"""What detectors judge by, and the fields that tell it: one of each group is enough."""
CAUSES = {
    "HTTP status 401": "give --username and --password-file, or --bearer-token-file",
    "HTTP status 403": "the login that is given may not read the page",
    "HTTP status 404": "name the page: http://HOST:PORT/PATH; the exporter's is /metrics",
    "HTTP status 500": "read the exporter's log; with NVSwitches versions 4.6.0-4.8.3 name all of them nvswitch0 and"
    " fail (dcgm-exporter #728): update it, or take the NVSWITCH fields out of its counters file",
    "no TLS on that port": "the target speaks http: write http://",
    "HTTP request to an HTTPS server": "the target speaks https: write https://, or --https",
    "certificate required": "give --cert and --key: the target asks for a client certificate",
    "closed before": "a target that asks for a client certificate (--cert, --key) ends so; else read its log",
    "certificate": "give --ca FILE, and --tls-name where the certificate names another host",
    "Connection refused": "see whether the exporter runs; DCGM 4.7 dropped fields 200 and 201, and an exporter whose"
    " counters file lists them stops",
    "no answer": "see whether the exporter hangs, or a firewall drops what comes to its port",
}


class Seen:
    """An outlet that keeps what one target gave."""

    def __init__(self) -> None:
        self.scrapes: list[GpuScrape] = []
        self.beats: list[Beat] = []
        self.bad: list[str] = []

    def publish(self, topic: Topic[Any], message: Message) -> None:
        """As in `Outlet`."""
        del topic
        if isinstance(message, GpuScrape):
            self.scrapes.append(message)

    async def deliver(self, messages: Sequence[tuple[Topic[Any], Message]]) -> bool:
        """As in `Outlet`."""
        for topic, message in messages:
            self.publish(topic, message)
        return True

    def beat(self, beat: Beat) -> None:
        """As in `Outlet`."""
        self.beats.append(beat)

    def reject(self, source: str, raw: bytes, why: str) -> None:
        """As in `Outlet`."""
        del source, raw
        self.bad.append(why)


def sights_of(name: str, seen: Seen) -> list[Sight]:
    """The lines of one target: its page or its failure, then a line for each thing that is missing."""
    error = next((beat.error for beat in seen.beats if beat.error), None)
    if error is not None or not seen.scrapes:
        advice = next((advice for cause, advice in CAUSES.items() if cause in (error or "")), "")
        return [Sight(name, False, "nothing", error or "no samples on the page", advice)]
    return [sight for scrape in seen.scrapes for sight in _of_scrape(name, scrape, seen)]


def _of_scrape(name: str, scrape: GpuScrape, seen: Seen) -> list[Sight]:
    shown = f"node {scrape.node}: {_gpus(scrape)}"
    if scrape.entities:
        shown += ", " + ", ".join(f"{len(e.ids)} {e.kind}" for e in scrape.entities if e.kind != "node")
        shown = shown.rstrip(", ")
    lacks: list[tuple[str, str]] = []
    if not scrape.gpus:
        lacks.append(("GPUs", "see whether the driver runs on that node, and whether the exporter watches GPUs (-d f)"))
    else:
        lacks += _fields(scrape)
        if any(gpu.uuid.startswith(f"{scrape.node}/gpu") for gpu in scrape.gpus):
            lacks.append(("UUIDs", "the exporter is older than 2.0: update it; without them nothing joins to jobs"))
    if seen.bad:
        lacks.append((f"lines that can be read: {seen.bad[0]}", "see whether a proxy changes the page"))
    lacks += [(f"{part}: {why}", "") for part, why in scrape.errors.items() if part != "gpus"]
    return [Sight(name, not lacks, shown)] if not lacks else [Sight(name, False, shown, *lack) for lack in lacks]


def _gpus(scrape: GpuScrape) -> str:
    whole = {gpu.uuid for gpu in scrape.gpus}
    instances = sum(gpu.mig is not None for gpu in scrape.gpus)
    users = sum(1 for gpu in scrape.gpus if gpu.pod or gpu.hpc_job)
    text = f"{len(whole)} GPU{'s' if len(whole) != 1 else ''}" + (f" in {instances} MIG instances" if instances else "")
    return f"{text}, {len(scrape.columns)} fields, {users} with a job or pod"


def _fields(scrape: GpuScrape) -> list[tuple[str, str]]:
    """Fields that are not on the page, and those that are there and blank on every GPU."""
    has = {field for field, values in scrape.columns.items() if any(value is not None for value in values)}
    names = {field.id: field.name for field in fields_by_name().values()}
    out: list[tuple[str, str]] = []
    for what, groups in NEEDS:
        absent = [group[0] for group in groups if not any(field in scrape.columns for field in group)]
        blank = [group[0] for group in groups if group[0] not in absent and not has & set(group)]
        if absent:
            out.append((what, f"add to the exporter's counters file: {', '.join(names[field] for field in absent)}"))
        if blank:
            shown = ", ".join(names[field] for field in blank)
            out.append((what, f"{shown}: on the page and blank; this GPU or driver does not tell it"))
    return out


def gathered(sights: Iterable[Sight]) -> list[Sight]:
    """Targets that lack the same thing are one line: a fleet is set up alike."""
    groups: dict[tuple[bool, str, str], list[Sight]] = {}
    for sight in sights:
        groups.setdefault((sight.ok, sight.lacks, sight.advice), []).append(sight)
    out: list[Sight] = []
    for (ok, lacks, advice), alike in groups.items():
        first = alike[0]
        others = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        sees = first.sees if len({sight.sees for sight in alike}) == 1 else f"{first.sees}; others alike"
        out.append(Sight(first.target + others, ok, sees, lacks, advice))
    return out


async def sights(args: argparse.Namespace) -> list[Sight]:
    """One look at everything that the options name. Raises `SourceError` for options that are wrong."""
    from collectors.dcgm.access import Access
    from collectors.dcgm.roster import Roster, discoveries
    from collectors.dcgm.round import read_round
    from collectors.dcgm.shared import Shared
    from collectors.dcgm.sweep import sweep_of

    out: list[Sight] = []

    def report(name: str, took_s: float, error: str | None) -> None:
        if error is not None:
            out.append(Sight(name, False, "nothing", error, "mend what the message names; the last targets stay"))

    args = argparse.Namespace(**(vars(args) | {"timeout": min(args.timeout, LIMIT_S), "once": True}))
    shared = Shared(Access(args))
    roster = Roster(args, discoveries(args), report)
    await roster.ask_all()
    seen = {name: Seen() for name in roster.targets()}
    await read_round(roster.targets().values(), lambda target: sweep_of(args, target, seen[target.name], shared))
    found = [sight for name, one in seen.items() for sight in sights_of(name, one)]
    return out + (gathered(found) if len(seen) > 1 else found)
