"""What the demo says at its end: the scoreboard, the week's numbers, the report, the Dagster address."""

import os
import sys
from datetime import UTC, datetime, timedelta
from statistics import median

from rich.console import Console
from rich.table import Table

from infra.demo.story import DRAIN_S, Story
from infra.score_report import table
from infra.scoreboard import Scoreboard, judge


def scoreboard(story: Story, seconds: float) -> Scoreboard:
    """Judge what was told of the story's `seconds`."""
    until_us = story.start_us + round((seconds + DRAIN_S) * 1e6)
    with story.lock:
        findings = [finding for finding in story.board.findings if finding.ts_us <= until_us]
        edges = [edge for edge in story.board.edges if edge.ts_us <= until_us]
    return judge(story.scenario, findings, edges, story.start_us)


def tell(story: Story, board: Scoreboard, seconds: float) -> None:
    """Print all of it."""
    table([board], sys.stdout, seconds)
    with story.lock:
        samples = sum(rate.total for rate in story.board.rates.values())
        print(f"\n{samples:,} samples collected, {story.board.rejected} messages rejected")
        lags = sorted(story.lags_s)
    if lags:
        print(f"from event to incident on the wire: median {median(lags):.1f} s, longest {lags[-1]:.1f} s")
    state = os.path.relpath(story.places.state)
    print(f"alerts: {state}/alerts.jsonl")
    _week()
    print(f'\nask it yourself: LOCKSTEP_STATE={state} lockstep sql "select * from incidents"')


def _week() -> None:
    from pipelines.ask import asking
    from pipelines.picture import factors, percent
    from pipelines.settings import pipeline_settings

    now = datetime.now(UTC)
    with asking() as ask:
        rows = ask("effective_by_day", start=now - timedelta(days=8), end=now + timedelta(days=1))
    if not rows:
        print("no rollups yet")
        return
    shown = Table(title="the past week, rolled up", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("day", "usable", "occupancy", "goodput", "MFU", "effective compute"):
        shown.add_column(column, justify="left" if column == "day" else "right")
    for row in rows:
        shown.add_row(row["day"].isoformat(), *map(percent, factors(row)))
    print()
    Console(file=sys.stdout).print(shown)
    reports = sorted(pipeline_settings().reports_folder.glob("*.html"))
    if reports:
        # The newest day has only its first hours: the one before it is whole.
        print(f"report: {reports[-2] if len(reports) > 1 else reports[-1]}")
