"""`lockstep collect nccl-ras`: what NCCL's RAS knows of a job's ranks: how far each is, and which are gone."""

import argparse
import asyncio
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.source import Outlet, Sight, SourceError
from collectors.sources import seconds
from collectors.whole_file import read_whole

if TYPE_CHECKING:
    from collectors.nccl_ras.client import Address
    from collectors.nccl_ras.poller import Poller
    from collectors.nccl_ras.target import Target

MOST_BYTES = 256 << 20
AT_ONCE = 32
"""Addresses asked at the same time by a check."""
CHECK_S = 9.0
REACHED = "ask a host on which the job runs; NCCL_RAS_ADDR=0.0.0.0:28028 in the job lets other hosts ask"
CHECK_LEGS_S = 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--address",
        action="append",
        default=[],
        metavar="[JOB=]HOST[:PORT]",
        help="any process of a job (port 28028 unless said); with commas more of them, asked until one answers; "
        "may be given again for other jobs",
    )
    parser.add_argument(
        "--job", metavar="J", help="the job's id, where --address does not say it (default: the address)"
    )
    parser.add_argument(
        "--resolve", action="store_true", help="look up the names of the hosts that RAS knows by address only"
    )
    parser.add_argument("--file", type=Path, metavar="F", help="with --once: a kept answer, text or JSON; - is stdin")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="longest wait for an answer: RAS itself waits some 10 s for ranks that hang (default %(default)g)",
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Ask every job once, or read the file; the number of messages. Raises `SourceError` where nothing answered."""
    if args.file is not None:
        return read_file(args, outlet)
    pollers = _pollers(args, outlet, None)
    answered = asyncio.run(_sweep_all(pollers))
    if not answered:
        raise SourceError(f"none of {len(pollers)} jobs answered")
    return sum(answered)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Ask every job each interval, until cancelled. One that hangs delays no other."""
    if args.file is not None:
        raise SourceError("--file is read with --once; a running job is asked with --address")
    async with asyncio.TaskGroup() as group:
        for poller in _pollers(args, outlet, args.interval):
            group.create_task(poller.run())


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What each address answers."""
    if args.file is not None:
        yield look(str(args.file), lambda: read_whole(args.file, MOST_BYTES)[0])
    elif not args.address:
        yield Sight(target="--address", ok=False, sees="nothing", advice="give --address JOB=HOST")
    addresses = [address for target in _targets(args.address, args.job) for address in target.addresses]
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        yield from pool.map(lambda address: look(str(address), partial(_ask_once, address)), addresses)


def look(name: str, read: Callable[[], bytes]) -> Sight:
    """What one answer has, in a line."""
    from collectors.nccl_ras.answer import read_answer
    from collectors.nccl_ras.poller import known, why_not
    from collectors.nccl_ras.report import ReportError

    try:
        report = read_answer(read())
    except ReportError as why:
        return Sight(target=name, ok=False, sees="an answer that is none of RAS", advice=str(why))
    except SourceError as why:
        return Sight(target=name, ok=False, sees="nothing", advice=str(why))
    except OSError as why:
        return Sight(target=name, ok=False, sees="nothing", lacks=f"an answer: {why_not(why)}", advice=REACHED)
    version = f"NCCL {report.version}, " if report.version else ""
    if report.form == "json":
        ranks = known(report)
        return Sight(target=name, ok=True, sees=f"{version}{report.communicators} communicators, {ranks} ranks in them")
    return Sight(
        target=name,
        ok=False,
        sees=f"{version}{report.communicators} communicators, as text; {len(report.comms)} with something to tell",
        lacks="the counts of communicators whose ranks agree: a hang of all ranks cannot be told from work",
        advice="NCCL 2.28.7 and later answer in JSON",
    )


def read_file(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish a kept answer, at the file's time. Raises `SourceError`."""
    from collectors.contract.kafka import kafka_settings
    from collectors.nccl_ras.poller import Poller
    from collectors.nccl_ras.report import ReportError
    from collectors.nccl_ras.target import Target
    from collectors.settings import this_node

    raw, ts_us = read_whole(args.file, MOST_BYTES)
    poller = Poller(
        Target(args.job or args.file.stem, ()),
        outlet,
        partial(_ask, args.timeout),
        cluster=kafka_settings().cluster,
        collector=_collector(args),
        interval_s=None,
        now_us=lambda: ts_us,
    )
    try:
        return poller.take(raw, this_node(args.node))
    except ReportError as why:
        raise SourceError(f"{args.file}: {why}") from why


def _pollers(args: argparse.Namespace, outlet: Outlet, interval_s: float | None) -> "list[Poller]":
    from collectors.contract.kafka import kafka_settings
    from collectors.nccl_ras.names import Names
    from collectors.nccl_ras.poller import Poller

    names = Names() if args.resolve else None
    if not args.address:
        raise SourceError("give --address JOB=HOST[:PORT], a host on which the job runs")
    return [
        Poller(
            target,
            outlet,
            partial(_ask, args.timeout),
            cluster=kafka_settings().cluster,
            collector=_collector(args),
            interval_s=interval_s,
            names=names,
        )
        for target in _targets(args.address, args.job)
    ]


def _targets(given: list[str], job: str | None) -> "list[Target]":
    from collectors.nccl_ras.target import targets

    return targets(given, job)


async def _sweep_all(pollers: "list[Poller]") -> list[int]:
    told = await asyncio.gather(*(poller.sweep() for poller in pollers))
    return [count for count in told if count is not None]


async def _ask(timeout_s: float, address: "Address") -> bytes:
    from collectors.nccl_ras.client import ask

    return await ask(address, timeout_s=timeout_s)


def _ask_once(address: "Address") -> bytes:
    from collectors.nccl_ras.client import ask

    return asyncio.run(ask(address, timeout_s=CHECK_S, legs_s=CHECK_LEGS_S))


def _collector(args: argparse.Namespace) -> str:
    instance = getattr(args, "instance", None)
    return f"nccl-ras@{socket.gethostname()}" + (f":{instance}" if instance else "")
