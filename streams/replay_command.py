"""`lockstep replay`: recorded messages in, findings and incidents out."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from collectors.contract.errors import UserError
from streams.detectors_command import add_config, add_names, chosen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, what to print, and how."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="envelopes, one a line (also from `kcat -J`); several are merged by time; - is stdin",
    )
    parser.add_argument(
        "--out",
        choices=("findings", "all"),
        default="all",
        help="findings only, or incidents and node health as well (default)",
    )
    add_config(parser)
    add_names(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="lines for people (default) or envelopes, one a line",
    )


def run(args: argparse.Namespace) -> int:
    """Bad lines are named on standard error and skipped; status 2 when nothing at all could be read."""
    from collectors.contract.envelope import write
    from streams.contract import FINDINGS
    from streams.pipeline import Pipeline
    from streams.replay import Recording, replay
    from streams.words import line

    pipeline = Pipeline(choices=chosen(args.config, args.detectors))
    with ExitStack() as open_files:
        recording = Recording([(name, open_files.enter_context(_open(name))) for name in args.files])
        shown = 0
        out = sys.stdout.buffer
        for topic, message in replay(recording.messages(), pipeline):
            shown = _report(recording.errors, shown)
            if args.out == "findings" and topic is not FINDINGS:
                continue
            out.write(write(topic, message) if args.format == "json" else line(message).encode())
            out.write(b"\n")
        out.flush()
        _report(recording.errors, shown)
    sys.stderr.write(f"replay: {recording.read} messages, {len(recording.errors)} bad lines\n")
    return 0 if recording.read else 2


def _open(name: str) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except OSError as why:
        raise UserError(f"{name}: {why.strerror}; give files of envelopes") from why


def _report(errors: Sequence[UserError], shown: int) -> int:
    for why in errors[shown:]:
        sys.stderr.write(f"replay: {why}\n")
    return len(errors)
