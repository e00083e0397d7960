"""`lockstep backtest`."""

import argparse

from streams.detectors_command import add_config, add_names

WARM_US = 1_800_000_000
"""Judged before `--from` without being counted, so that no window of a detector begins empty: the longest that most
look back over; memory errors have their own past of weeks."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which past, which limits, and the form of the output."""
    parser.add_argument("--from", dest="start", required=True, metavar="T", help="2026-11-01 or 2026-11-01T08:00 (UTC)")
    parser.add_argument("--to", dest="end", required=True, metavar="T", help="the same; up to before it")
    add_config(parser)
    add_names(parser)
    parser.add_argument("--all", action="store_true", help="also show what stayed the same")
    parser.add_argument(
        "--json", action="store_true", help="one JSON object an incident, and a last one with the totals"
    )


def run(args: argparse.Namespace) -> int:
    """Judge the warehouse's past anew and print what differs from what was told then."""
    import dataclasses
    import json
    import sys
    from collections import Counter

    from collectors.contract.errors import UserError
    from infra.backtest import GRAVITY, begun_within, judge_again, matched, tallies
    from infra.backtest_report import day, lines, progress_to, then
    from infra.times import moment_us
    from streams.contract import NODE_PASTS
    from streams.detectors_command import chosen
    from streams.pipeline import Pipeline
    from warehouse import connect
    from warehouse.past.messages import messages, must_have
    from warehouse.pasts import node_pasts

    start_us, end_us = moment_us("--from", args.start), moment_us("--to", args.end)
    if end_us <= start_us:
        raise UserError(f"--to {args.end} is not after --from {args.start}")
    pipeline = Pipeline(choices=chosen(args.config, args.detectors))
    with connect() as connection:
        must_have(connection, start_us, end_us)
        was = [told for told in then(connection, start_us, end_us) if GRAVITY[told.severity] > 0]
        begin_us = max(0, start_us - WARM_US)
        for past in node_pasts(connection, begin_us):
            pipeline.feed(NODE_PASTS, past)
        with progress_to(sys.stderr, begin_us, end_us) as progress:
            now = judge_again(messages(connection, begin_us, end_us), pipeline, progress)
    matches = begun_within(matched(was, now), start_us)
    if not args.json:
        for line in lines(matches, args.all):
            print(line)
        return 0
    for match in matches:
        sides = {"then": match.then, "now": match.now}
        told = {side: one and dataclasses.asdict(one) for side, one in sides.items()}
        print(json.dumps({"verdict": match.word, **told}))
    by = {"causes": tallies(matches, lambda told: told.cause), "days": tallies(matches, day)}
    counted = {name: {key: dataclasses.asdict(one) for key, one in found.items()} for name, found in by.items()}
    print(json.dumps({"totals": Counter(match.word for match in matches), **counted}))
    return 0
