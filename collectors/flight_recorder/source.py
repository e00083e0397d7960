"""`lockstep collect flight-recorder`: which rank did not enter which collective, from PyTorch's dumps."""

import argparse
import hashlib
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.source import Outlet, Sight, SourceError

if TYPE_CHECKING:
    from collectors.flight_recorder.watch import What

LAST = 200
CHECKED = 64
SWITCH_ON = (
    "set TORCH_NCCL_TRACE_BUFFER_SIZE=2000, TORCH_NCCL_DUMP_ON_TIMEOUT=true and "
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE={folder}/{prefix} in the job (TORCH_FR_BUFFER_SIZE and TORCH_FR_DUMP_TEMP_FILE "
    "in later releases)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--dir", type=Path, required=True, metavar="D", help="folder of the dumps, a file a rank")
    parser.add_argument("--job", metavar="J", help="the job's id")
    parser.add_argument(
        "--prefix",
        default="nccl_trace_rank_",
        metavar="P",
        help="what stands before the rank in a file's name (default %(default)s)",
    )
    parser.add_argument(
        "--shared",
        action="store_true",
        help="ranks of many hosts write here: their node is left open, the job's placement tells it",
    )
    parser.add_argument(
        "--last",
        type=int,
        default=LAST,
        metavar="N",
        help="newest operations of each group, beside all that have not completed; 0: all (default %(default)s)",
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read every dump that is there; the number of messages. Raises `SourceError`."""
    from collectors.flight_recorder.watch import Watch

    return Watch(_what(args), outlet).once()


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read dumps as they appear, until cancelled. What was told stays told over a restart."""
    from collectors.contract.kafka import kafka_settings
    from collectors.cursor import CursorFile
    from collectors.flight_recorder.watch import Kept, Watch
    from collectors.settings import collector_settings

    what = _what(args)
    name = hashlib.sha256(f"{args.dir.resolve()}\n{what.job}\n{what.prefix}".encode()).hexdigest()[:16]
    path = Path(kafka_settings().state) / "cursors" / f"flight-recorder-{socket.gethostname()}-{name}.json"
    kept: CursorFile[Kept] = CursorFile(path, Kept, collector_settings().spool_after_s + 1)
    try:
        await Watch(what, outlet).run(args.interval, kept)
    finally:
        kept.close()


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What the folder has: dumps of which ranks, and which ranks of their groups left none."""
    from collectors.contract.ranks import pack_ranks
    from collectors.flight_recorder.folder import Bad, list_dumps, read_file

    switch_on = SWITCH_ON.format(folder=args.dir, prefix=args.prefix)
    try:
        found = list(list_dumps(args.dir, args.prefix))
    except SourceError as why:
        yield Sight(target=str(args.dir), ok=False, sees="nothing", lacks=str(why), advice=switch_on)
        return
    if not found:
        lacks = "any dump: there is none before a collective times out"
        yield Sight(target=str(args.dir), ok=True, sees="an empty folder", lacks=lacks, advice=switch_on)
        return
    expected: set[int] = set()
    for one in found[:CHECKED]:
        read = read_file(one.path)
        if isinstance(read, Bad):
            yield Sight(target=str(one.path), ok=False, sees="no dump", advice=read.why)
            continue
        expected.update(rank for group in read.groups.values() for rank in group.ranks or ())
    silent = sorted(expected - {one.rank for one in found})
    yield Sight(
        target=str(args.dir),
        ok=not silent,
        sees=f"{len(found)} dumps",
        lacks=f"dumps of ranks {pack_ranks(silent)}, which are in the same groups" if silent else "",
        advice="their processes are gone, or they write elsewhere" if silent else "",
    )


def _what(args: argparse.Namespace) -> "What":
    from collectors.contract.kafka import kafka_settings
    from collectors.flight_recorder.watch import What
    from collectors.settings import this_node

    if not args.job:
        raise SourceError(f"--dir {args.dir}: a dump does not say which job it is of; give --job")
    if args.last < 0:
        raise SourceError(f"--last {args.last}: write a whole number, 0 for all")
    instance = getattr(args, "instance", None) or args.job
    return What(
        folder=args.dir,
        prefix=args.prefix,
        cluster=kafka_settings().cluster,
        collector=f"flight-recorder@{socket.gethostname()}:{instance}",
        job=args.job,
        node="" if args.shared else this_node(args.node),
        last=args.last or None,
    )
