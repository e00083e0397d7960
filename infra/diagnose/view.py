"""The report for a terminal, and as a picture."""

import io
import json
import re
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from infra.diagnose.report import Report
from infra.diagnose.words import moment

BLOCKS = ("#313244", "#3b5b3b", "#6b7d2f", "#b5892c", "#c8611f", "#c01c28")
STEPS = (1.03, 1.07, 1.15, 1.30, 1.60)
"""Times the peers' compute at which the colour changes."""
SIGNS = "·-=+*#"
"""The same without colours."""


def text(report: Report) -> str:
    """Plain lines."""
    out = io.StringIO()
    console = Console(file=out, width=160, color_system=None, highlight=False)
    console.print(_page(report, coloured=False))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def show(report: Report) -> None:
    """On the terminal, coloured."""
    Console(highlight=False).print(_page(report, coloured=True))


def picture(report: Report, path: Path) -> None:
    """The report as an SVG that stands by itself."""
    console = Console(record=True, width=140, file=io.StringIO(), highlight=False)
    console.print(_page(report, coloured=True))
    # rich names a font of the web; the picture must stand by itself.
    path.write_text(re.sub(r"@font-face\s*{[^}]*}", "", console.export_svg(title=f"lockstep diagnose {report.job}")))


def as_json(report: Report) -> str:
    """One document."""
    return json.dumps(asdict(report), indent=2)


def _page(report: Report, *, coloured: bool) -> RenderableType:
    rows: list[RenderableType] = [
        Text(f"job {report.job} ({report.cluster}), {moment(report.span[0])} to {moment(report.span[1])}", style="bold")
    ]
    for number, answer in enumerate(report.answers, 1):
        line = Text(f"\n{number}. {answer.question}  ")
        line.append(answer.reply, style="bold cyan")
        rows += [line, Text(f"   {answer.words}")]
        rows += [Text(f"     {detail}", style="dim") for detail in answer.details]
    if report.picture:
        rows.append(Text("\nown compute of each rank over its peers, time from left to right"))
        rows += [_row(name, values, coloured) for name, values in report.picture]
        rows.append(_legend(coloured))
    verdict = report.verdict
    said = Text("\nVerdict: ", style="bold")
    said.append(verdict.cause, style="bold green" if verdict.cause == "not_slow" else "bold red")
    said.append(f"  {verdict.part}  ({verdict.confidence} confidence)")
    rows += [said, Text(f"  {verdict.words}")]
    if verdict.action:
        rows.append(Text(f"  Next: {verdict.action}"))
    if verdict.runbook:
        rows.append(Text(f"  Runbook: {verdict.runbook}"))
    return Group(*rows)


def _row(name: str, values: list[float | None], coloured: bool) -> Text:
    line = Text(f"  {name:<12.12} ")
    grades = (None if value is None else sum(value >= step for step in STEPS) for value in values)
    for grade, alike in groupby(grades):
        size = len(list(alike))
        if grade is None:
            line.append(" " * size)
        else:
            line.append(("█" if coloured else SIGNS[grade]) * size, style=BLOCKS[grade] if coloured else "")
    known = [value for value in values if value is not None]
    line.append(f" {max(known):.2f}" if known and max(known) >= STEPS[1] else "")
    return line


def _legend(coloured: bool) -> Text:
    line = Text("  ")
    for grade, sign in enumerate(SIGNS):
        low = "below 1.03" if grade == 0 else f"{STEPS[grade - 1]:.2f}"
        line.append("█" if coloured else f"[{sign}]", style=BLOCKS[grade] if coloured else "")
        line.append(f" {low}   ")
    return line
