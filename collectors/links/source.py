"""`lockstep collect links`: who is cabled to whom, from a site's own file."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from collectors.source import Outlet, Sight, SourceError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file."""
    parser.add_argument(
        "--file",
        required=True,
        type=Path,
        metavar="F",
        help="CSV with a header, JSON lines (links or envelopes) or TOML ([[link]]); - is stdin",
    )
    parser.add_argument(
        "--follow", action="store_true", help="stay, and tell what changes in the file (default: tell it all and end)"
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish every link of the file. Raises `SourceError` naming each line that is wrong."""
    from collectors.contract.topics import FABRIC_LINKS
    from collectors.links.file import read_file

    found = read_file(args.file)
    for link in found.links.values():
        outlet.publish(FABRIC_LINKS, link)
    return len(found.links)


def check(args: argparse.Namespace) -> Iterator[Sight]:
    """Whether the file can be read, and whether it knows the hosts behind the ports."""
    from collectors.links.file import read_file

    try:
        links = list(read_file(args.file).links.values())
    except SourceError as why:
        yield Sight(str(args.file), False, "nothing", str(why), "mend the lines it names")
        return
    devices = len({link.device for link in links})
    sees = f"{len(links)} cable ends of {devices} devices"
    hostless = sum(link.node is None and link.far_kind in ("nic", "hca") for link in links)
    if hostless:
        lacks = f"the host behind {hostless} of them"
        yield Sight(str(args.file), False, sees, lacks, "fill `node` (and `gpu_index`), or a drop names no job")
    else:
        yield Sight(str(args.file), True, sees)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Publish the file, then with `--follow` what changes in it. Raises `SourceError` for one that cannot be read."""
    from collectors.links.service import Service

    if args.follow and str(args.file) == "-":
        raise SourceError("--file -: standard input is read once and cannot be followed")
    service = Service(args.file, outlet, args.interval, args.node, getattr(args, "instance", None))
    try:
        service.begin()
        if args.follow:
            await service.follow()
    finally:
        service.close()
