"""`lockstep incidents`: what is wrong now, with who has seen it."""

import argparse
import os
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which, and the form of the output."""
    parser.add_argument("incident", nargs="?", metavar="INCIDENT", help="show this one in full")
    parser.add_argument("--all", action="store_true", help="those that ended as well, as far back as Kafka keeps them")
    parser.add_argument("--json", action="store_true", help="a JSON array of the incidents as in incidents.v1")


def run(args: argparse.Namespace) -> int:
    """Print them; 0 whether there are any or not."""
    import time

    import msgspec

    from streams.incident_log import find, incidents
    from streams.incident_table import detail, table

    found, now_us = incidents(), time.time_ns() // 1000
    if args.incident is not None:
        found = [find(args.incident, found)]
    elif not args.all:
        found = [i for i in found if i.state != "cleared"]
    if args.json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
        sys.stdout.buffer.flush()
        return 0
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    lines = table(found, now_us, colour) if args.incident is None else detail(found[0], now_us)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0
