"""`lockstep score`."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which scenarios, what judges them, and the form of the output."""
    parser.add_argument(
        "scenarios",
        nargs="+",
        metavar="SCENARIO",
        help="scenario files, folders of them, or names of those that come with Lockstep (`demo`, `all`)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    parser.add_argument("--seed", type=int, help="play every scenario with this seed instead of its own")
    parser.add_argument("--config", metavar="FILE", help="limits file, as `lockstep detectors` prints one")
    parser.add_argument("--detectors", metavar="NAMES", help="judge with these alone, by commas: memory,xid")
    parser.add_argument("--jobs", type=int, metavar="N", help="scenarios at once, a process each (default: the cores)")
    parser.add_argument(
        "--accept",
        action="store_true",
        help="exit 1 where precision, recall, causes or delays fall short of what is asked, not at every miss",
    )


def run(args: argparse.Namespace) -> int:
    """Play each scenario in virtual time; exit 1 if a fault was missed or a false page sent."""
    import os
    import sys
    import time
    from dataclasses import replace

    from infra.acceptance import shortfalls
    from infra.fleet.scenario import load
    from infra.play import files
    from infra.players import play_all
    from infra.score_choices import answerable, chosen, tickets_of
    from infra.score_report import document, table

    choices, names = chosen(args.config, args.detectors)
    scenarios = [load(path) for path in files(args.scenarios)]
    if args.seed is not None:
        scenarios = [replace(scenario, seed=args.seed) for scenario in scenarios]
    if names is not None:
        scenarios = [answerable(scenario, names) for scenario in scenarios]
    started = time.monotonic()
    boards = play_all(scenarios, choices, args.jobs or os.cpu_count() or 1, sys.stderr)
    ecc = tickets_of(scenarios, choices)
    if args.json:
        print(document(boards, ecc))
    else:
        table(boards, sys.stdout, time.monotonic() - started, ecc)
        if args.accept:
            sys.stdout.writelines(f"falls short: {line}\n" for line in shortfalls(boards))
    good = not shortfalls(boards) if args.accept else all(board.ok for board in boards)
    return 0 if good else 1
