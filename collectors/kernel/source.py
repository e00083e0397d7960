"""`lockstep collect kernel`: XIDs, link flaps and memory faults, from the kernel log."""

import argparse
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.source import Outlet, Sight, SourceError

if TYPE_CHECKING:
    from collectors.kernel.intake import Intake

KMSG = Path("/dev/kmsg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--file", metavar="F", help="a log file, `-` for standard input (default: this host's log)")
    parser.add_argument("--follow", action="store_true", help="go on reading as the log grows; rotation is followed")
    parser.add_argument(
        "--from",
        dest="origin",
        choices=("auto", "kmsg", "journal"),
        default="auto",
        help="this host's log: /dev/kmsg or journalctl -k (default: the first that can be read)",
    )
    parser.add_argument(
        "--gpu-map",
        type=Path,
        metavar="F",
        help="PCI address and GPU UUID a line, or the driver's folder (default for this host's log: "
        "/proc/driver/nvidia/gpus)",
    )
    parser.add_argument(
        "--zone",
        type=_zone,
        metavar="ZONE",
        help="time zone of stamps that name none, such as Europe/Berlin or UTC (default: this machine's)",
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Read what the log holds now."""
    from collectors.kernel import readers

    if args.file == "-":
        intake = _intake(args, outlet, "stdin")
        readers.read_stream(readers.stdin_lines(), intake)
    elif args.file is not None:
        intake = _intake(args, outlet, args.file)
        readers.read_file(Path(args.file), intake)
    elif _origin(args.origin) == "kmsg":
        intake = _intake(args, outlet, str(KMSG))
        readers.read_kmsg(KMSG, intake, boot_us())
    else:
        intake = _intake(args, outlet, "journal")
        readers.read_journal(intake)
    return intake.events


def check(args: argparse.Namespace) -> Iterator[Sight]:
    """Whether the log can be read, what is in it, and whether its GPUs can be named."""
    from collectors.kernel.looking import look

    where = args.file or "this host's log"
    try:
        found = look(lambda outlet: once(args, outlet))
    except SourceError as why:
        yield Sight(where, False, "nothing", str(why), "run where the log can be read, or name it with --file")
        return
    yield Sight(where, True, found.sees)
    if found.nameless:
        lacks = f"the GPU's UUID in {found.nameless} events"
        yield Sight(where, False, found.sees, lacks, "give --gpu-map, from nvidia-smi of that node")


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read on until cancelled, or to the end of a file that is not followed."""
    from collectors.kernel import readers, serving

    if args.file == "-":
        await serving.serve_stream(readers.stdin_lines(), _intake(args, outlet, "stdin"), args.interval)
    elif args.file is not None and not args.follow:
        intake = _intake(args, outlet, args.file)
        began_s = time.monotonic()
        readers.read_file(Path(args.file), intake)
        intake.beat(began_s, None)
    elif args.file is not None:
        await serving.serve_file(Path(args.file), _intake(args, outlet, args.file), args.interval)
    elif _origin(args.origin) == "kmsg":
        await serving.serve_kmsg(KMSG, _intake(args, outlet, str(KMSG)), boot_us, args.interval)
    else:
        await serving.serve_journal(_intake(args, outlet, "journal"), args.interval)


def boot_us() -> int:
    """When this machine booted, Unix microseconds. The kernel's clock stands still in suspend; nodes do not."""
    return (time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) // 1000


def _intake(args: argparse.Namespace, outlet: Outlet, target: str) -> "Intake":
    from collectors.contract.kafka import kafka_settings
    from collectors.kernel.gpus import DRIVER_FOLDER, GpuMap, checked_map, no_gpus
    from collectors.kernel.intake import Intake
    from collectors.kernel.log import KernelLog
    from collectors.settings import this_node

    gpu_uuid: Callable[[str], str | None]
    if args.gpu_map is not None:
        gpu_uuid = checked_map(args.gpu_map, now_us)
    elif args.file is not None:  # perhaps another machine's: what sits at an address here says nothing about it
        gpu_uuid = no_gpus
    else:
        gpu_uuid = GpuMap(DRIVER_FOLDER, now_us)
    cluster, node, booted_us = kafka_settings().cluster, this_node(args.node), boot_us()
    log = KernelLog(
        cluster=cluster,
        this_node=node,
        node=args.node,
        now_us=now_us,
        boot_us=lambda: booted_us,
        gpu_uuid=gpu_uuid,
        zone=args.zone,
    )
    return Intake(log, outlet, target, cluster, node, getattr(args, "instance", None))


def now_us() -> int:
    """Unix microseconds."""
    return time.time_ns() // 1000


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as why:
        raise argparse.ArgumentTypeError(f"{name!r} is no time zone; write one such as Europe/Berlin or UTC") from why


def _origin(wanted: str) -> str:
    if wanted in ("auto", "kmsg") and _readable(KMSG):
        return "kmsg"
    if wanted in ("auto", "journal") and shutil.which("journalctl"):
        return "journal"
    raise SourceError(
        f"this host's kernel log cannot be read (--from {wanted}): run as root or in the group that may read "
        f"{KMSG}, have journalctl on the path, or give --file"
    )


def _readable(path: Path) -> bool:
    try:
        with path.open("rb"):
            return True
    except OSError:
        return False
