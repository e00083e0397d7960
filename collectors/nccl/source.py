"""`lockstep collect nccl-inspector`: collectives, from the files of the NCCL Inspector plug-in."""

import argparse
import asyncio
import hashlib
import re
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.source import Outlet, Sight, SourceError

if TYPE_CHECKING:
    from collectors.nccl.intake import Intake

_SLURM_FOLDER = re.compile(r"nccl-inspector-(\d+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--dir", type=Path, required=True, metavar="D", help="the job's NCCL_INSPECTOR_DUMP_DIR")
    parser.add_argument(
        "--job", metavar="J", help="the job's id (default: the number of a folder nccl-inspector-NUMBER)"
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read all that the files hold; the cursor of a running collector is left alone."""
    from collectors.nccl.folder import Folder

    intake = _intake(args, outlet)
    for found in Folder(args.dir).read(to_end=True):
        intake.add(found)
    return intake.flush()


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Publish one window per communicator, process and interval, until cancelled."""
    from collectors.contract.kafka import kafka_settings
    from collectors.cursor import CursorFile
    from collectors.defect import defect
    from collectors.nccl.folder import Folder
    from collectors.settings import collector_settings
    from collectors.tail import Position

    intake = _intake(args, outlet)
    name = hashlib.sha256(f"{args.dir.resolve()}\n{intake.job}".encode()).hexdigest()[:16]
    path = Path(kafka_settings().state) / "cursors" / f"nccl-{socket.gethostname()}-{name}.json"
    kept = CursorFile(path, dict[str, Position], collector_settings().spool_after_s + 1)
    folder = Folder(args.dir, kept.load())
    published = folder.positions()
    try:
        while True:
            began_s, trouble, before = time.monotonic(), None, folder.bytes
            try:
                pieces = folder.read()
                while (found := await asyncio.to_thread(next, pieces, None)) is not None:
                    intake.add(found)
                intake.flush()
            except SourceError as why:
                trouble = str(why)
            except Exception as why:  # noqa: BLE001 (what comes after the lines at fault is read)
                trouble = defect(f"nccl-inspector:{args.dir}", why)
            if folder.positions() != published:
                published = folder.positions()
                kept.stage(published)
            kept.settle()
            intake.beat(began_s, args.interval, trouble, folder.bytes - before)
            await asyncio.sleep(max(0.0, args.interval - (time.monotonic() - began_s)))
    finally:
        intake.flush()
        kept.stage(folder.positions())
        kept.close()


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What the folder has and lacks."""
    from collectors.nccl.look import look

    return look(args.dir)


def _intake(args: argparse.Namespace, outlet: Outlet) -> "Intake":
    from collectors.contract.kafka import kafka_settings
    from collectors.nccl.intake import Intake
    from collectors.settings import this_node

    named = _SLURM_FOLDER.fullmatch(args.dir.resolve().name)
    job = args.job or (named[1] if named else None)
    if job is None:
        raise SourceError(f"--dir {args.dir}: its name does not say which job it is of; give --job")
    cluster, instance = kafka_settings().cluster, getattr(args, "instance", None)
    return Intake(outlet, cluster, job, args.node, this_node(args.node), args.dir, instance)
