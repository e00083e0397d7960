"""`lockstep collect nodes`: which nodes are out of service, on purpose or not, and in which racks they stand."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.source import Outlet, Sight, SourceError
from collectors.sources import seconds

if TYPE_CHECKING:
    from collectors.nodes.looks import Look


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Who is asked, and how a rack is known."""
    parser.add_argument("--from", dest="ask", choices=("slurm", "kubernetes"), help="the scheduler that is asked")
    parser.add_argument(
        "--file",
        action="append",
        type=Path,
        default=[],
        metavar="F",
        help="a site's own nodes and planned work (TOML or CSV), looked at again and again; with --once also what"
        " `scontrol show nodes|reservations --json`, `sinfo --json` or `kubectl get nodes -o json` wrote; repeatable",
    )
    parser.add_argument("--kubeconfig", type=Path, metavar="F", help="default: the pod's service account, or kubectl's")
    parser.add_argument(
        "--rack-label", action="append", default=[], metavar="LABEL", help="Kubernetes label that names the rack"
    )
    parser.add_argument(
        "--rack-pattern",
        type=_pattern,
        metavar="REGEX",
        help="Slurm: its group is the rack, looked for in features, comment, extra and name, as in '(r[0-9]+)n'",
    )
    parser.add_argument(
        "--again", type=seconds, default=600.0, metavar="SECONDS", help="tell everything so often (default %(default)g)"
    )


def once(args: argparse.Namespace, outlet: Outlet) -> int:
    """Publish a word on every node. Raises `SourceError`."""
    from collectors.nodes.serving import tell_once

    return tell_once(_look(args)(), outlet, f"nodes:{_target(args)}")


def check(args: argparse.Namespace) -> Iterator[Sight]:
    """Whether nodes may be listed, and whether their racks and planned work are told."""
    try:
        found = _look(args)()
    except SourceError as why:
        advice = "run where the scheduler is reached (docs/sources.md), or give --file"
        yield Sight(_target(args), False, "nothing", str(why), advice)
        return
    states = found.states.values()
    closed, planned = sum(s.schedulable is False for s in states), sum(s.planned is True for s in states)
    racks = len({s.rack for s in states if s.rack is not None})
    sees = f"{len(states)} nodes in {racks} racks, {closed} closed, {planned} out on purpose"
    if found.unread:
        yield Sight(_target(args), False, sees, found.unread[0], "report the node's JSON as a defect")
    elif any(s.rack is None for s in states) or not states:
        lacks = "any node" if not states else f"the rack of {sum(s.rack is None for s in states)} nodes"
        advice = "give --rack-label, --rack-pattern or a --file with racks: faults of a whole rack need it"
        yield Sight(_target(args), False, sees, lacks, advice)
    else:
        yield Sight(_target(args), True, sees)


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Look every `--interval` seconds and tell what changed."""
    from collectors.nodes.serving import Serving

    serving = Serving(_target(args), outlet, args.interval, args.again, getattr(args, "instance", None))
    await serving.run(_look(args))


def _look(args: argparse.Namespace) -> "Look":
    from collectors.nodes import looks

    if bool(args.ask) == bool(args.file):
        raise SourceError("say who knows them: --from slurm, --from kubernetes or --file F (one of these)")
    if args.file:
        return looks.files(args.file, args.rack_pattern, args.rack_label)
    if args.ask == "slurm":
        return looks.slurm(args.rack_pattern)
    return looks.kubernetes(args.kubeconfig, args.rack_label)


def _target(args: argparse.Namespace) -> str:
    return ", ".join(map(str, args.file)) or args.ask or "nodes"


def _pattern(text: str) -> re.Pattern[str]:
    try:
        found = re.compile(text)
    except re.error as why:
        raise argparse.ArgumentTypeError(f"{text!r} is no pattern: {why}") from why
    if found.groups != 1:
        raise argparse.ArgumentTypeError(f"{text!r}: one group must hold the rack, as in '(r[0-9]+)n'")
    return found
