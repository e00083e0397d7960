"""`lockstep load`."""

import argparse

from collectors.contract.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `lockstep load`."""
    parser.add_argument("--once", action="store_true", help="load to the end of the topics and exit")
    parser.add_argument(
        "--from-files",
        nargs="+",
        metavar="FILE",
        help="load envelopes, one a line, in place of Kafka; - is standard input",
    )
    parser.add_argument(
        "--commit-seconds",
        type=float,
        default=5.0,
        metavar="S",
        help="commit every so many seconds (default %(default)s)",
    )
    parser.add_argument(
        "--progress-seconds",
        type=float,
        default=10.0,
        metavar="S",
        help="tell how far it is every so many seconds (default %(default)s; a terminal shows it at once)",
    )
    parser.add_argument(
        "--no-maintenance",
        action="store_true",
        help="leave merging and cleaning to another `lockstep load`, or to --maintain",
    )
    parser.add_argument(
        "--maintain", action="store_true", help="merge closed hours, clean up, say what was won, and exit"
    )


def run(args: argparse.Namespace) -> int:
    """0: loaded and, when asked to end, committed. 2: nothing could be loaded."""
    if args.commit_seconds <= 0 or args.progress_seconds <= 0:
        raise UserError("--commit-seconds and --progress-seconds: write a number of seconds above 0")
    if args.maintain:
        from warehouse.service import maintain

        return maintain()
    if args.from_files:
        from warehouse.files import load_files

        return load_files(args.from_files)
    from warehouse.service import serve

    return serve(
        once=args.once,
        commit_s=args.commit_seconds,
        progress_s=args.progress_seconds,
        tidy=not args.no_maintenance,
    )
