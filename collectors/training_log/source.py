"""`lockstep collect training-log`: steps, checkpoints and ends, from what a training framework prints."""

import argparse
import re
import sys
import time
from collections.abc import Iterable
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collectors.source import Outlet, Sight, SourceError

if TYPE_CHECKING:
    from collectors.training_log.intake import Intake
    from collectors.training_log.kept import Kept

FORMATS = ("auto", "megatron", "torchtitan", "composer", "lightning", "deepspeed", "hugging-face")
_SLURM_FILE = re.compile(r"slurm-(\d+)(?:[._-].*)?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--file", required=True, metavar="F", help="the job's log; `-`: standard input")
    parser.add_argument("--job", metavar="J", help="the job's id (default: the number of a file slurm-NUMBER.out)")
    parser.add_argument("--format", choices=FORMATS, default="auto", help="whose lines they are (default: found out)")
    parser.add_argument(
        "--follow", action="store_true", help="go on reading as the log grows (always so without --once)"
    )
    parser.add_argument(
        "--rank", type=int, metavar="N", help="the rank that prints (default: by its lines and their prefixes, else 0)"
    )
    parser.add_argument(
        "--attempt", type=int, default=0, metavar="N", help="which start of the job the log begins with (default 0)"
    )
    parser.add_argument(
        "--zone", metavar="NAME", help="time zone of its times, such as Europe/Berlin or UTC (default: this host's)"
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read all that the file holds; the cursor of a running collector is left alone."""
    from collectors.training_log.file import lines, since, stdin_lines

    if args.file == "-":
        intake = _intake(args, outlet)
        for raw in stdin_lines():
            intake.line(raw, time.time_ns() // 1000)
    else:
        path = Path(args.file)
        since_us, walked = since(path, _intake(args, outlet).log, _zone(args.zone))
        intake = _intake(args, outlet, since_us=since_us, walked=walked)
        for raw in lines(path):
            intake.line(raw)
    intake.rest()
    intake.flush()
    if intake.messages == 0:
        whose = ", ".join(FORMATS[1:]) if args.format == "auto" else args.format
        raise SourceError(
            f"--file {args.file}: none of {intake.lines} lines is a step of {whose}; is it the log of "
            "the rank that prints, and does the framework print steps?"
        )
    if args.format == "auto":
        sys.stderr.write(f"lockstep collect training-log: {args.file}: lines of {intake.log.form or 'no framework'}\n")
    return intake.messages


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What the beginning of the log shows, and what could be printed more."""
    from collectors.training_log.sight import look

    if args.file == "-":
        return [Sight("stdin", True, "whatever is piped in")]
    try:
        zone, job = _zone(args.zone), _job(args)
    except SourceError as why:
        return [Sight(args.file, False, "nothing", "", str(why))]
    return look(Path(args.file), job, None if args.format == "auto" else args.format, zone)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Follow the file until cancelled, from where the last run stopped; a pipe to its end."""
    from collectors.training_log.file import stdin_lines
    from collectors.training_log.pipe import follow_pipe
    from collectors.training_log.serving import follow

    if args.file == "-":
        await follow_pipe(stdin_lines(), _intake(args, outlet), args.interval)
        return
    await follow(Path(args.file), lambda **more: _intake(args, outlet, **more), _zone(args.zone), args.interval)


def _intake(
    args: argparse.Namespace,
    outlet: Outlet,
    *,
    since_us: int = 0,
    walked: str | None = None,
    kept: "Kept | None" = None,
) -> "Intake":
    from collectors.contract.kafka import kafka_settings
    from collectors.settings import this_node
    from collectors.training_log.intake import Intake
    from collectors.training_log.log import TrainingLog

    cluster, job = kafka_settings().cluster, _job(args)
    log = TrainingLog(
        cluster=cluster,
        job=job,
        this_node=this_node(args.node),
        node=args.node,
        rank=args.rank,
        attempt=args.attempt,
        form=None if args.format == "auto" else args.format,
        zone=_zone(args.zone),
        since_us=since_us,
        walked=walked,
        kept=kept,
    )
    return Intake(log, outlet, cluster, job, args.file, getattr(args, "instance", None))


def _job(args: argparse.Namespace) -> str:
    named = _SLURM_FILE.fullmatch(Path(args.file).name)
    job: Any = args.job or (named[1] if named else None)
    if job is None:
        raise SourceError(f"--file {args.file}: its name does not say which job it is of; give --job")
    return str(job)


def _zone(name: str | None) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as why:
        raise SourceError(f"--zone {name}: no such time zone; write a name such as Europe/Berlin or UTC") from why
