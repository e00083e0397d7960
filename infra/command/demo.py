"""`lockstep demo`."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How long, and what then."""
    parser.add_argument("--seconds", type=float, default=120.0, help="length of the live story (default %(default)g)")
    parser.add_argument(
        "--exit",
        action="store_true",
        help="end after the scoreboard; exit status 1 if a fault was missed or a page false",
    )
    parser.add_argument("--scenario", default="demo", help="scenario file or name (default %(default)s)")
    parser.add_argument("--no-past", action="store_true", help="no virtual past week and no rollups")
    parser.add_argument("--no-dagster", action="store_true", help="no Dagster UI")


def run(args: argparse.Namespace) -> int:
    """Start every part on this machine, show the story, judge it."""
    from infra.demo.show import show

    return show(args)
