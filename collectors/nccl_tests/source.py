"""`lockstep collect nccl-tests`: results of nccl-tests, from what it printed or from its `-J` report."""

import argparse
import time
from collections.abc import Iterable
from pathlib import Path

from collectors.source import Outlet, Sight, SourceError
from collectors.whole_file import read_whole

MOST_BYTES = 64 << 20
"""A table is some 10 KB; a log with NCCL's own lines in it some MB."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        type=Path,
        metavar="F",
        help="what a benchmark printed, or its -J report; may be given again; - is stdin",
    )
    parser.add_argument("--job", default="nccl-tests", metavar="J", help="the job's name (default %(default)s)")
    parser.add_argument(
        "--collective",
        metavar="NAME",
        help="such as all_reduce: where neither the output (releases before 2.17) nor the file's name says it",
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish a window a run, at the file's time; the number of them. Raises `SourceError` where none could be read."""
    if not args.file:
        raise SourceError("give --file F: what a benchmark printed, or its -J report")
    read, troubles = 0, []
    for path in args.file:
        try:
            read += read_file(path, args, outlet)
        except SourceError as why:
            troubles.append(str(why))
            if len(args.file) > 1:
                outlet.reject(f"nccl-tests:{path}", b"", str(why))
    if troubles and not read:
        raise SourceError("; ".join(troubles))
    return read


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Publish the files once, with a beat each, then end: a benchmark is not followed."""
    from collectors.contract.beat import Beat
    from collectors.contract.kafka import kafka_settings
    from collectors.defect import defect
    from collectors.settings import collector_name

    if not args.file:
        raise SourceError("give --file F: what a benchmark printed, or its -J report")
    for path in args.file:
        began_s, messages, raw, error = time.monotonic(), 0, b"", None
        try:
            raw, ts_us = read_whole(path, MOST_BYTES)
            messages = publish(raw, ts_us, path, args, outlet)
        except SourceError as why:
            error = str(why)
        except Exception as why:  # noqa: BLE001 (the files after this one are read)
            error = defect(f"nccl-tests:{path}", why)
        outlet.beat(
            Beat(
                cluster=kafka_settings().cluster,
                ts_us=time.time_ns() // 1000,
                collector=collector_name("nccl-tests", getattr(args, "instance", None)),
                source="nccl-tests",
                target=str(path),
                subject=args.job,
                ok=error is None,
                seconds=round(time.monotonic() - began_s, 6),
                messages=messages,
                bytes=len(raw),
                error=error,
            )
        )


def check(args: argparse.Namespace) -> Iterable[Sight]:
    """What each file has."""
    from collectors.nccl_tests.intake import read_runs

    for path in args.file:
        try:
            raw, _ = read_whole(path, MOST_BYTES)
            found = read_runs(raw)
        except (SourceError, ValueError) as why:
            yield Sight(target=str(path), ok=False, sees="nothing", advice=str(why))
            continue
        sizes = sum(len(run.rows) for run in found.runs)
        named = any(run.collective for run in found.runs) or _collective(path, args)
        yield Sight(
            target=str(path),
            ok=sizes > 0 and not found.bad,
            sees=f"{len(found.runs)} runs, {sizes} results",
            lacks="" if named else "which collective it was",
            advice=_advice(len(found.bad), sizes, bool(named)),
        )
    if not args.file:
        yield Sight(target="--file", ok=False, sees="nothing", advice="give --file F")


def read_file(path: Path, args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish one file's runs. Raises `SourceError` where it has none."""
    raw, ts_us = read_whole(path, MOST_BYTES)
    return publish(raw, ts_us, path, args, outlet)


def publish(raw: bytes, ts_us: int, path: Path, args: argparse.Namespace, outlet: Outlet) -> int:
    """The bytes of one file into windows; lines that are no rows are rejected. Raises `SourceError`."""
    from collectors.contract.kafka import kafka_settings
    from collectors.contract.topics import NCCL_WINDOWS
    from collectors.nccl.cut import cut
    from collectors.nccl_tests.intake import read_runs
    from collectors.nccl_tests.run import window
    from collectors.settings import this_node

    try:
        found = read_runs(raw)
    except ValueError as why:
        raise SourceError(f"{path}: {why}") from why
    for bad in found.bad:
        outlet.reject(f"nccl-tests:{path}", bad.raw.encode(), f"{path}:{bad.number}: {bad.why}")
    if not found.runs:
        raise SourceError(f"{path}: no table of nccl-tests in it; give what all_reduce_perf prints, or its -J report")
    cluster, node = kafka_settings().cluster, this_node(getattr(args, "node", None))
    windows = [
        window(run, cluster=cluster, job=args.job, node=node, ts_us=ts_us, collective=_collective(path, args))
        for run in found.runs
    ]
    pieces = [piece for whole in windows for piece in cut(whole)]
    for piece in pieces:
        outlet.publish(NCCL_WINDOWS, piece)
    return len(pieces)


def _collective(path: Path, args: argparse.Namespace) -> str | None:
    from collectors.nccl.operation import operation
    from collectors.nccl_tests.run import collective_of

    if args.collective is None:
        return collective_of(path.stem)
    named = operation(args.collective.removesuffix("_perf"))
    if named is None:
        raise SourceError(f"--collective {args.collective}: no such collective; write all_reduce, all_gather, ...")
    return named


def _advice(bad: int, sizes: int, named: bool) -> str:
    said = ["give what the benchmark prints, or its -J report"] if not sizes else []
    said += [f"{bad} lines look like results and cannot be read"] if bad else []
    said += ["give --collective all_reduce, or put it in the file's name"] if not named else []
    return "; ".join(said)
