"""`lockstep score`."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which scenarios, and the form of the output."""
    parser.add_argument(
        "scenarios",
        nargs="+",
        metavar="SCENARIO",
        help="scenario files, folders of them, or names of those that come with Lockstep (`demo`, `all`)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    parser.add_argument("--seed", type=int, help="play every scenario with this seed instead of its own")


def run(args: argparse.Namespace) -> int:
    """Play each scenario in virtual time; exit 1 if a fault was missed or a false page sent."""
    import sys
    import time
    from dataclasses import replace

    from infra.fleet.scenario import load
    from infra.play import files, play
    from infra.score_report import document, table
    from infra.scoreboard import Scoreboard

    paths = files(args.scenarios)
    scenarios = [load(path) for path in paths]
    boards: list[Scoreboard] = []
    started = time.monotonic()
    for scenario in scenarios:
        if args.seed is not None:
            scenario = replace(scenario, seed=args.seed)
        live = sys.stderr.isatty()

        def progress(done: float, name: str = scenario.name, live: bool = live) -> None:
            if live:
                sys.stderr.write(f"\r\x1b[K{len(boards) + 1}/{len(scenarios)} {name} {done:4.0%}")
                sys.stderr.flush()

        boards.append(play(scenario, progress))
        if live:
            sys.stderr.write("\r\x1b[K")
    if args.json:
        print(document(boards))
    else:
        table(boards, sys.stdout, time.monotonic() - started)
    return 0 if all(board.ok for board in boards) else 1
