"""`lockstep collect kubernetes`: which pods with GPUs belong to which job, and how it ended, from Kubernetes."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.source import Outlet, Sight, SourceError

if TYPE_CHECKING:
    from collectors.placement.listing import Listing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A saved list, or the API server."""
    parser.add_argument(
        "--file",
        action="append",
        type=Path,
        default=[],
        metavar="F",
        help="with --once: what `kubectl get pods --all-namespaces --output=json` wrote; repeatable",
    )
    parser.add_argument("--kubeconfig", type=Path, metavar="F", help="default: the pod's service account, or kubectl's")
    parser.add_argument("--selector", metavar="LABELS", help="only pods with these labels, as kubectl takes them")


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish every placement and end that is listed. Raises `SourceError`."""
    from collectors.placement.serving import tell_once

    return sum(tell_once(listing, outlet, f"kubernetes:{name}") for name, listing in _listings(args))


def check(args: argparse.Namespace) -> Iterator[Sight]:
    """Whether pods may be listed, and whether any of them has GPUs."""
    try:
        found = list(_listings(args))
    except SourceError as why:
        yield Sight("pods", False, "nothing", str(why), "see docs/sources.md for the role that is needed")
        return
    for name, listing in found:
        gpus = sum(len(held.placement) for held in listing.held)
        sees = f"{len(listing.held)} jobs on {gpus} GPUs, {len(listing.ended)} that ended"
        if gpus:
            yield Sight(name, True, sees)
        else:
            lacks = "a running pod with GPUs in its limits"
            yield Sight(name, False, sees, lacks, "check --selector, and that GPUs are asked for as nvidia.com/gpu")


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """List every `--interval` seconds and tell what changed."""
    from collectors.kubernetes.listing import pods_of
    from collectors.placement.serving import Serving

    if args.file:
        raise SourceError("--file is read with --once; without it the API server is asked")
    target = str(args.kubeconfig or "cluster") + (f" {args.selector}" if args.selector else "")
    serving = Serving("kubernetes", target, outlet, args.interval, getattr(args, "instance", None))
    await serving.run(pods_of(args.kubeconfig, args.selector))


def _listings(args: argparse.Namespace) -> "Iterator[tuple[str, Listing]]":
    from collectors.kubernetes.listing import pods_of, read_file

    for path in args.file:
        yield str(path), read_file(path)
    if not args.file:
        yield "cluster", pods_of(args.kubeconfig, args.selector)()
