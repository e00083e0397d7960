"""What the judging must reach over a library of scenarios, and where it falls short."""

from collections.abc import Sequence

from infra.detector_score import quantile, total
from infra.scoreboard import Scoreboard

LEAST_PRECISION = 0.99
LEAST_RECALL = 0.99
LEAST_CAUSE_RIGHT = 0.95
MOST_SCRAPES = 2.0
"""From the first scrape that can show a fault of counters to its page, at the 99th percentile."""
MOST_STEPS = 5.0
"""Steps that a straggler of 1.3x or more is felt before its page, at the 99th percentile."""
FELT = 1.3


def shortfalls(boards: Sequence[Scoreboard]) -> list[str]:
    """Each demand that is not met, in words with its number; empty: all are."""
    score = total(boards)
    out: list[str] = []
    for name, value, least in (
        ("precision", score.precision, LEAST_PRECISION),
        ("recall", score.recall, LEAST_RECALL),
        ("cause right", score.cause_right, LEAST_CAUSE_RIGHT),
    ):
        if value is not None and value < least:
            out.append(f"{name} {value:.3f}, at least {least:g} is asked")
    scrapes = quantile(score.delays_intervals, 0.99)
    if scrapes is not None and scrapes > MOST_SCRAPES:
        out.append(f"p99 of the delay {scrapes:.1f} scrapes, at most {MOST_SCRAPES:g} is asked")
    felt = [
        float(v.delay_steps)
        for board in boards
        for v in board.verdicts
        if v.counts and v.found and v.delay_steps is not None and 1.0 + v.fault.size >= FELT
    ]
    steps = quantile(felt, 0.99)
    if steps is not None and steps > MOST_STEPS:
        out.append(f"p99 of the delay {steps:.1f} steps at {FELT:g}x and more, at most {MOST_STEPS:g} is asked")
    out += [
        f"{board.scenario}: {len(v.pages)} pages for {v.fault.name}, one is asked"
        for board in boards
        for v in board.verdicts
        if v.fault.page and len(v.pages) > 1
    ]
    out += [
        f"{board.scenario}: {len(board.false_pages)} pages on a quiet day, none is asked"
        for board in boards
        if board.false_pages and not any(v.fault.page for v in board.verdicts)
    ]
    return out
