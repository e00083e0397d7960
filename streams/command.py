"""`lockstep stream`: run one worker here, or several as processes."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many workers; everything else is a setting."""
    parser.add_argument(
        "--workers",
        type=_positive,
        default=1,
        metavar="N",
        help="worker processes on this machine (default 1); more can run elsewhere in the same group",
    )
    parser.add_argument("--verbose", action="store_true", help="also say what Faust and the Kafka clients do")


def run_stream(args: argparse.Namespace) -> int:
    """Until SIGTERM or Ctrl-C. Status 75 when a worker ended because its recovery made no progress."""
    if args.workers > 1:
        from streams.workers import run_workers

        return run_workers(args.workers, args.verbose)
    from streams.worker import run_worker

    return run_worker(0, args.verbose)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("write 1 or more")
    return number
