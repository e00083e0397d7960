"""`lockstep health`: which nodes should get work, for people and for a scheduler's scripts."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams.contract import NodeHealth


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which nodes, and the form of the output."""
    parser.add_argument(
        "node", nargs="*", metavar="NODE", help="these, in full; exit status 1 where one should be taken out"
    )
    parser.add_argument("--out", action="store_true", help="only nodes that should be taken out, by their names alone")
    parser.add_argument("--json", action="store_true", help="a JSON array of the words as in node.health.v1")


def run(args: argparse.Namespace) -> int:
    """Print them. With nodes named: 1 where evidence says that one should be taken out."""
    import msgspec

    from streams.health_table import detail, table
    from streams.incident_log import healths

    found = chosen(healths(), args.node)
    advised = [one for one in found if one.cordon]
    shown = advised if args.out else found
    if args.json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(shown), indent=2) + b"\n")
        sys.stdout.buffer.flush()
    elif args.out:
        sys.stdout.write("".join(f"{one.node}\n" for one in shown))
    elif args.node:
        sys.stdout.write("\n\n".join("\n".join(detail(one)) for one in shown) + "\n")
    else:
        sys.stdout.write("\n".join(table(shown)) + "\n")
    return 1 if args.node and advised else 0


def chosen(known: "list[NodeHealth]", names: list[str]) -> "list[NodeHealth]":
    """Those named, or all. Raises `UserError` for a name that nobody judged."""
    import difflib

    from collectors.contract.errors import UserError

    for name in names:
        if all(one.node != name for one in known):
            near = difflib.get_close_matches(name, [one.node for one in known], n=3)
            said = f"did you mean {', '.join(near)}?" if near else f"{len(known)} nodes are known: lockstep health"
            raise UserError(f"{name}: no such node was judged; {said}")
    return [one for one in known if one.node in names] if names else known
