"""`lockstep collect nic`: the network interfaces of this host."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.source import Outlet, Sight, SourceError

if TYPE_CHECKING:
    from collectors.nic.host import Nics

TIMEOUT_S = 10.0
"""A driver that takes longer hangs; another read is begun when it has come back."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which interfaces, and what they do not say of themselves."""
    parser.add_argument(
        "--interface",
        action="append",
        default=[],
        metavar="PATTERN",
        help="interfaces by name, such as enp*; repeatable (default: those that hang on a device)",
    )
    parser.add_argument("--lossless", metavar="P,P", help="priorities on which nothing may be dropped, such as 3,4")
    parser.add_argument("--gpu-map", type=Path, metavar="FILE", help="PCI addresses and UUIDs of GPUs, a line each")
    parser.add_argument("--sysfs", type=Path, default=Path("/sys/class/net"), metavar="DIR", help="default %(default)s")
    parser.add_argument(
        "--ethtool",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="with --once: a saved `ethtool -S`; repeatable; - is stdin",
    )
    parser.add_argument("--port", metavar="NAME", help="interface of a saved text (default: the name of its file)")
    parser.add_argument("--driver", metavar="NAME", help="driver of a saved text, such as mlx5_core (default: guessed)")


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read everything once. Raises `SourceError` where nothing could be read."""
    import asyncio

    from collectors.fabric.sweeping import Aside, reporter
    from collectors.nic.saved import read_saved

    told = reporter("nic", args, outlet, None)

    async def read() -> int:
        if args.ethtool:
            return sum([await told.sweep(str(path), read_saved(path, args), TIMEOUT_S) for path in args.ethtool])
        aside, nics = Aside(), _nics(args, once=True)
        return await told.sweep(str(args.sysfs), lambda: aside(nics.read), TIMEOUT_S)

    count = asyncio.run(read())
    if not count:
        raise SourceError("nothing was read")
    return count


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """All interfaces each interval, until cancelled."""
    from collectors.fabric.sweeping import Aside, reporter

    if args.ethtool:
        raise SourceError("--ethtool: a saved text is read with --once")
    aside, nics = Aside(), _nics(args, once=False)
    told = reporter("nic", args, outlet, args.interval)
    await told.forever(str(args.sysfs), lambda: aside(nics.read), TIMEOUT_S)


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """One sweep, with what each interface lacks."""
    from collectors.nic.sights import sights

    return sights(args, _nics(args, once=True))


def _nics(args: argparse.Namespace, *, once: bool) -> "Nics":
    from collectors.contract.kafka import kafka_settings
    from collectors.fabric.host import NearGpus
    from collectors.fabric.site import site_of
    from collectors.nic.ethtool import Ethtool
    from collectors.nic.host import Nics
    from collectors.settings import this_node

    ethtool, node, cluster = Ethtool(), this_node(args.node), kafka_settings().cluster
    return Nics(
        node=node,
        cluster=cluster,
        gpus=NearGpus(node=node, cluster=cluster, kind="nic", gpu_map=args.gpu_map),
        root=args.sysfs,
        statistics=ethtool.read,
        forget=ethtool.forget,
        patterns=args.interface,
        lossless=site_of(args.lossless, ()).lossless,
        keep_ignored=once,
    )
