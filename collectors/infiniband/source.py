"""`lockstep collect infiniband`: this host's RDMA ports, and the fabric by its tools, ibdiagnet or UFM."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from collectors.source import Outlet, Sight, SourceError
from collectors.sources import seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to read: this host's sysfs unless told otherwise."""
    parser.add_argument(
        "--sysfs", type=Path, metavar="DIR", help="RDMA devices of a host (default /sys/class/infiniband of this one)"
    )
    parser.add_argument("--gpu-map", type=Path, metavar="FILE", help="PCI addresses and UUIDs of GPUs, a line each")
    parser.add_argument(
        "--sweep", action="store_true", help="ask the whole fabric, by iblinkinfo and ibqueryerrors (infiniband-diags)"
    )
    parser.add_argument("--switches", action="store_true", help="with --sweep: leave out the adapters of hosts")
    parser.add_argument("--hca", metavar="NAME", help="with --sweep: the adapter to ask through, such as mlx5_0")
    parser.add_argument("--hca-port", type=int, metavar="N", help="with --sweep: its port")
    parser.add_argument("--tools", type=Path, metavar="DIR", help="with --sweep: where the tools are (default: PATH)")
    parser.add_argument(
        "--topology-every", type=seconds, default=300.0, metavar="SECONDS", help="between two looks at the cables"
    )
    parser.add_argument(
        "--timeout", type=seconds, default=60.0, metavar="SECONDS", help="longest wait for a tool or UFM (%(default)g)"
    )
    for option, what in (
        ("--perfquery", "output of perfquery, also -x and many ports"),
        ("--ibqueryerrors", "output of ibqueryerrors, also --data and --counters"),
        ("--iblinkinfo", "output of iblinkinfo: states, widths, cables"),
        ("--ibnetdiscover", "output of ibnetdiscover: cables"),
        ("--ibdiagnet", "ibdiagnet2.db_csv"),
    ):
        parser.add_argument(
            option, action="append", default=[], type=Path, metavar="FILE", help=f"{what}; repeatable; - is stdin"
        )
    parser.add_argument(
        "--ufm", action="append", default=[], metavar="URL|FILE", help="UFM telemetry: Prometheus text, JSON or CSV"
    )
    parser.add_argument("--ca", type=Path, metavar="FILE", help="certificates to trust for an https UFM")
    parser.add_argument("--insecure", action="store_true", help="trust any certificate of an https UFM")
    parser.add_argument("--names", type=Path, metavar="FILE", help='node name map: 0xGUID "name" a line')
    parser.add_argument("--device", metavar="NAME", help="name of the node that a --perfquery text is of")


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read everything once. Raises `SourceError` where nothing could be read."""
    import asyncio

    from collectors.fabric.sweeping import reporter
    from collectors.infiniband.targets import targets

    wanted = targets(args, once=True)
    told = reporter("infiniband", args, outlet, None)

    async def read() -> list[int]:
        return [await told.sweep(target.name, target.sweep, target.timeout_s) for target in wanted]

    count = sum(asyncio.run(read()))
    if not count:
        raise SourceError(f"none of {len(wanted)} targets could be read" if len(wanted) > 1 else "nothing was read")
    return count


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Every target each interval, until cancelled; one that hangs delays no other."""
    import asyncio

    from collectors.fabric.sweeping import reporter
    from collectors.infiniband.targets import targets

    wanted = targets(args, once=False)
    if any(target.name == "-" for target in wanted):
        raise SourceError("standard input is read with --once")
    told = reporter("infiniband", args, outlet, args.interval)
    async with asyncio.TaskGroup() as group:
        for target in wanted:
            group.create_task(told.forever(target.name, target.sweep, target.timeout_s))


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """One sweep of each target, with what it lacks."""
    from collectors.infiniband.sights import sights

    return sights(args)
