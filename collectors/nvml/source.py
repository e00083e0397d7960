"""The source `nvml`: this host's GPUs, where no DCGM is."""

import argparse
from collections.abc import Iterable

from collectors.attribution.options import add_holders
from collectors.source import Outlet, Sight, SourceError
from collectors.sources import seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=10.0,
        metavar="SECONDS",
        help="longest wait for a GPU in a sweep; a GPU that hangs costs its own row only (default %(default)g)",
    )
    parser.add_argument(
        "--no-xids",
        action="store_true",
        help="tell no XIDs: the source `kernel` runs on this node too, and its lines say more",
    )
    add_holders(parser)


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read every GPU once."""
    from collectors.attribution.serving import holders_of
    from collectors.gpu import serving

    names = serving.names_of(args, "nvml")
    return serving.once(_reader(args), outlet, names, args.timeout, holders_of(args, outlet, names, None))


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read until cancelled."""
    from collectors.attribution.serving import holders_of
    from collectors.gpu import serving

    names = serving.names_of(args, "nvml")
    holders = holders_of(args, outlet, names, args.interval)
    await serving.serve(_reader(args), outlet, names, timeout_s=args.timeout, interval_s=args.interval, holders=holders)


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """As in `Source`."""
    from collectors.attribution import checks as holders
    from collectors.gpu.reading import GpuTrouble
    from collectors.nvml.checks import sights
    from collectors.nvml.library import load_nvml
    from collectors.nvml.users import by_index

    try:
        nvml = load_nvml()
        return [*sights(nvml), *holders.sights(args, lambda: by_index(nvml))]
    except GpuTrouble as why:
        return [Sight("nvml", False, "nothing", str(why), "install it, or read the GPUs through dcgm-exporter")]


def _reader(args: argparse.Namespace):  # type: ignore[no-untyped-def]
    from collectors.gpu.reading import GpuTrouble
    from collectors.nvml.library import load_nvml
    from collectors.nvml.reader import NvmlReader
    from collectors.settings import this_node

    try:
        return NvmlReader(load_nvml(), this_node(args.node), with_faults=not args.no_xids)
    except GpuTrouble as why:
        raise SourceError(str(why)) from why
