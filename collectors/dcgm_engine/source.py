"""The source `dcgm-engine`: GPUs by DCGM without its exporter."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.attribution.options import add_holders
from collectors.source import Outlet, Sight, SourceError
from collectors.sources import seconds

if TYPE_CHECKING:
    from collectors.dcgm_engine.reader import DcgmReader
    from collectors.dcgm_engine.session import Where
    from collectors.gpu.sweep import AskHolders, Names

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--address",
        metavar="HOST[:PORT]|unix:PATH",
        help="an nv-hostengine that runs already (port 5555); default: an engine in this process",
    )
    parser.add_argument("--bindings", type=Path, metavar="DIR", help="the folder of pydcgm.py (default: DCGM's own)")
    parser.add_argument("--library", metavar="DIR", help="the folder of libdcgm.so (default: the system's)")
    parser.add_argument(
        "--fast",
        type=seconds,
        default=5.0,
        metavar="SECONDS",
        help="between two samples of power, clocks, temperatures, use; all are sent (default %(default)g)",
    )
    parser.add_argument(
        "--slow",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="between two samples of ECC, row remaps, links, throttle times (default %(default)g)",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="longest wait for the engine in a sweep (default %(default)g)",
    )
    parser.add_argument(
        "--no-xids",
        action="store_true",
        help="tell no XIDs: the source `kernel` runs on this node too, and its lines say more",
    )
    add_holders(parser)


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Start or connect, and read every field once."""
    from collectors.gpu import serving

    names = serving.names_of(args, "dcgm-engine", _node(args))
    return serving.once(_reader(args), outlet, names, args.timeout, _holders(args, outlet, names, None))


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read until cancelled."""
    from collectors.gpu import serving

    names = serving.names_of(args, "dcgm-engine", _node(args))
    holders = _holders(args, outlet, names, args.interval)
    await serving.serve(_reader(args), outlet, names, timeout_s=args.timeout, interval_s=args.interval, holders=holders)


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """As in `Source`."""
    from collectors.attribution import checks as holders
    from collectors.dcgm_engine.bindings import ADVICE, load_bindings
    from collectors.dcgm_engine.checks import sights
    from collectors.dcgm_engine.processes import busy_here
    from collectors.gpu.reading import GpuTrouble

    where = _where(args.address)
    try:
        dcgm = load_bindings(args.bindings)
    except GpuTrouble as why:
        return [Sight(where.words, False, "nothing", str(why).partition(";")[0], ADVICE)]
    refuse_far_holders(args)
    found = sights(dcgm, where, args.library, _node(args), args.fast, args.slow)
    return [*found, *holders.sights(args, busy_here if _is_here(args.address) else holders.nobody_tells)]


def _reader(args: argparse.Namespace) -> "DcgmReader":
    from collectors.dcgm_engine.bindings import load_bindings
    from collectors.dcgm_engine.reader import DcgmReader
    from collectors.dcgm_engine.session import KEEP_S
    from collectors.dcgm_engine.watched import watches
    from collectors.gpu.reading import GpuTrouble

    where = _where(args.address)
    try:
        dcgm = load_bindings(args.bindings)
    except GpuTrouble as why:
        raise SourceError(str(why)) from why
    return DcgmReader(
        dcgm,
        where,
        _node(args),
        watches(args.fast, args.slow),
        args.library,
        with_faults=not args.no_xids,
        # A sweep may come late, or find the engine hanging, some times over.
        keep_s=max(KEEP_S, 4 * args.interval),
    )


def _holders(args: argparse.Namespace, outlet: Outlet, names: "Names", interval_s: float | None) -> "AskHolders":
    from collectors.attribution.serving import holders_of
    from collectors.dcgm_engine.processes import owners_here

    refuse_far_holders(args)
    return holders_of(args, outlet, names, interval_s, owners_here if _is_here(args.address) else None)


def refuse_far_holders(args: argparse.Namespace) -> None:
    """Raises `SourceError` where holders of another host's GPUs are asked for here."""
    asked = args.pod_resources is not None or args.hpc_job_dir is not None
    if asked and not _is_here(args.address):
        raise SourceError(
            f"--address {args.address}: --pod-resources and --hpc-job-dir read this host, and those GPUs are another's;"
            " run the source there, or leave them out"
        )


def _is_here(address: str | None) -> bool:
    return address is None or address.startswith("unix:") or _host(address) in LOCAL


def _where(address: str | None) -> "Where":
    from collectors.dcgm_engine.session import Where

    if address is None:
        return Where()
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        if not path:
            raise SourceError(f"--address {address}: write unix:PATH")
        return Where(socket=path)
    port = address.rpartition(":")[2] if ":" in address.rpartition("]")[2] else ""
    if not address or address.startswith(":") or (port and not (port.isdecimal() and 0 < int(port) < 65536)):
        raise SourceError(f"--address {address}: write HOST, HOST:PORT or unix:PATH")
    return Where(address=address)


def _node(args: argparse.Namespace) -> str:
    """The engine's host, where it is another one."""
    from collectors.settings import this_node

    return this_node(args.node) if args.node or _is_here(args.address) else _host(args.address)


def _host(address: str) -> str:
    host = address.rpartition(":")[0] if ":" in address.rpartition("]")[2] else address
    return host.strip("[]")
