"""`lockstep collect slurm`: which GPUs a job holds, and how it ended, from Slurm."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.source import Outlet, Sight, SourceError

if TYPE_CHECKING:
    from collectors.placement.listing import Listing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A saved answer, or which command is asked."""
    parser.add_argument(
        "--file",
        action="append",
        type=Path,
        default=[],
        metavar="F",
        help="with --once: what scontrol, squeue or sacct wrote with --json; repeatable; - is stdin",
    )
    parser.add_argument(
        "--ask",
        choices=("scontrol", "squeue", "sacct"),
        default="scontrol",
        help="the command that is asked (default %(default)s: it knows which GPUs of a node)",
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish every placement and end of the files, or of what Slurm lists now. Raises `SourceError`."""
    from collectors.placement.serving import tell_once

    if not args.file:
        return tell_once(_now(args), outlet, f"slurm:{args.ask}")
    return sum(tell_once(_read(path), outlet, f"slurm:{path}") for path in args.file)


def check(args: argparse.Namespace) -> Iterator[Sight]:
    """Whether Slurm answers, and whether it tells which GPU of a node is whose."""
    targets = [(str(path), path) for path in args.file] or [(args.ask, None)]
    for target, path in targets:
        try:
            listing = _now(args) if path is None else _read(path)
        except SourceError as why:
            yield Sight(target, False, "nothing", str(why), "run on a login node, where scontrol works")
            continue
        gpus = sum(len(held.placement) for held in listing.held)
        sees = f"{len(listing.held)} jobs on {gpus} GPUs, {len(listing.ended)} that ended"
        blind = sum(any(row.gpu_index is None for row in held.placement) for held in listing.held)
        if blind:
            lacks = f"which GPUs of their nodes {blind} jobs hold"
            yield Sight(target, False, sees, lacks, "ask scontrol; `Gres` in gres.conf needs a File= line a GPU")
        for why_not in listing.unread[:3]:
            yield Sight(target, False, sees, why_not, "report the job's JSON as a defect")
        if not blind and not listing.unread:
            yield Sight(target, True, sees)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Ask every `--interval` seconds and tell what changed."""
    from collectors.placement.serving import Serving

    if args.file:
        raise SourceError("--file is read with --once; without it Slurm itself is asked")
    serving = Serving("slurm", args.ask, outlet, args.interval, getattr(args, "instance", None))
    await serving.run(lambda: _now(args))


def _now(args: argparse.Namespace) -> "Listing":
    from collectors.slurm.asking import ask, run_command

    return ask(args.ask, run_command)


def _read(path: Path) -> "Listing":
    from collectors.slurm.asking import MAX_BYTES
    from collectors.slurm.reply import ReplyError, read_reply
    from collectors.whole_file import read_whole

    raw, _ = read_whole(path, MAX_BYTES)
    try:
        return read_reply(raw)
    except ReplyError as why:
        raise SourceError(f"{path}: {why}") from why
