"""`lockstep backtest`."""

import argparse

from streams.detectors_command import add_config, add_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which past, which limits, and the form of the output."""
    parser.add_argument("--from", dest="start", required=True, metavar="T", help="2026-11-01 or 2026-11-01T08:00 (UTC)")
    parser.add_argument("--to", dest="end", required=True, metavar="T", help="the same; up to before it")
    add_config(parser)
    add_names(parser)
    parser.add_argument("--all", action="store_true", help="also show what stayed the same")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, and a last one with the totals")


def run(args: argparse.Namespace) -> int:
    """Judge the warehouse's past anew and print what differs from what was told then."""
    import dataclasses
    import json
    import sys
    from collections import Counter

    from collectors.contract.errors import UserError
    from infra.backtest import GRAVITY, judge_again, matched
    from infra.backtest_report import lines, progress_to, then
    from infra.times import moment_us
    from streams.detectors_command import chosen
    from streams.pipeline import Pipeline
    from warehouse import connect
    from warehouse.past.messages import messages

    start_us, end_us = moment_us("--from", args.start), moment_us("--to", args.end)
    if end_us <= start_us:
        raise UserError(f"--to {args.end} is not after --from {args.start}")
    choices = chosen(args.config, args.detectors)
    with connect() as connection:
        was = [told for told in then(connection, start_us, end_us) if GRAVITY[told.severity] > 0]
        with progress_to(sys.stderr, start_us, end_us) as progress:
            past = messages(connection, start_us, end_us)
            now = [t for t in judge_again(past, Pipeline(choices=choices), progress) if t.opened_us >= start_us]
    matches = matched(was, now)
    if args.json:
        for match in matches:
            sides = {"then": match.then, "now": match.now}
            told = {side: one and dataclasses.asdict(one) for side, one in sides.items()}
            print(json.dumps({"verdict": match.word, **told}))
        print(json.dumps({"totals": Counter(match.word for match in matches)}))
        return 0
    for line in lines(matches, was, now, args.all):
        print(line)
    return 0
