"""`lockstep stream`: the streaming jobs, told of the past by the warehouse where there is one."""

import argparse

from streams import command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the streaming jobs, and whether to read the warehouse."""
    command.add_arguments(parser)
    parser.add_argument(
        "--no-past",
        action="store_true",
        help="do not read the GPUs' past memory errors from the warehouse (another start of this group has)",
    )


def run(args: argparse.Namespace) -> int:
    """Until SIGTERM or Ctrl-C; the past is told beside it."""
    if args.no_past:
        return command.run_stream(args)
    from infra.pasts import Teller

    teller = Teller()
    try:
        return command.run_stream(args)
    finally:
        teller.end()
