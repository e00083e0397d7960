"""The scoreboard for people (a table) and for programs (JSON)."""

import json
from collections.abc import Sequence
from typing import IO

from infra.fleet.fault import KINDS
from infra.scoreboard import Scoreboard, Verdict, by_detector

FAULTS = ("scenario", "fault", "from", "verdict", "delay", "cause named", "pages")
DETECTORS = ("detector", "faults", "found", "right", "false", "precision", "recall", "median", "p90")


def document(boards: Sequence[Scoreboard]) -> str:
    """One JSON document of everything."""
    return json.dumps(
        {
            "ok": all(board.ok for board in boards),
            "scenarios": [
                {
                    "name": board.scenario,
                    "ok": board.ok,
                    "findings": board.findings,
                    "pages": board.pages,
                    "faults": [_fault(verdict) for verdict in board.verdicts],
                    "false_pages": [
                        {
                            "detector": false.incident.detector,
                            "cause": false.incident.cause_word,
                            "summary": false.summary,
                            "because": false.because,
                        }
                        for false in board.false_pages
                    ],
                }
                for board in boards
            ],
            "detectors": {
                score.name: {
                    "faults": score.faults,
                    "found": score.found,
                    "cause_right": score.right,
                    "false_pages": score.false_pages,
                    "precision": score.precision,
                    "recall": score.recall,
                    "delay_median_s": score.delay_s(0.5),
                    "delay_p90_s": score.delay_s(0.9),
                }
                for score in by_detector(boards)
            },
        },
        indent=2,
    )


def _fault(verdict: Verdict) -> dict[str, object]:
    fault = verdict.fault
    return {
        "fault": fault.name,
        "kind": fault.kind,
        "target": fault.target,
        "size": fault.size,
        "from_s": fault.from_s,
        "detector": KINDS[fault.kind].detector,
        "must_page": fault.page,
        "expect": list(fault.expect),
        "good": verdict.good,
        "found": verdict.found,
        "cause": verdict.cause,
        "cause_right": verdict.cause_right,
        "delay_s": verdict.delay_s,
        "pages": verdict.pages,
    }


def fault_rows(boards: Sequence[Scoreboard]) -> list[tuple[str, ...]]:
    """One row per fault, in the columns of `FAULTS`."""
    return [
        (
            board.scenario,
            f"{v.fault.name} ({v.fault.size:g})",
            f"{v.fault.from_s:g} s",
            verdict_word(v),
            _seconds(v.delay_s),
            v.cause or "-",
            str(len(v.pages)),
        )
        for board in boards
        for v in board.verdicts
    ]


def detector_rows(boards: Sequence[Scoreboard]) -> list[tuple[str, ...]]:
    """One row per detector, in the columns of `DETECTORS`."""
    return [
        (
            score.name,
            str(score.faults),
            str(score.found),
            str(score.right),
            str(score.false_pages),
            _share(score.precision),
            _share(score.recall),
            _seconds(score.delay_s(0.5)),
            _seconds(score.delay_s(0.9)),
        )
        for score in by_detector(boards)
    ]


def verdict_word(verdict: Verdict) -> str:
    """In a word: what became of a fault."""
    if not verdict.fault.page:
        return "quiet, rightly" if verdict.good else "PAGED wrongly"
    if verdict.found:
        return "found"
    if verdict.cause_right:
        return "MISSED (too late)"
    return "MISSED (wrong cause)" if verdict.cause is not None else "MISSED"


def table(boards: Sequence[Scoreboard], out: IO[str], wall_s: float) -> None:
    """Tables: with rich on a terminal, plain columns otherwise."""
    faults, detectors = fault_rows(boards), detector_rows(boards)
    for head, rows in ((FAULTS, faults), (DETECTORS, detectors)):
        if not (out.isatty() and _rich(head, rows)):
            out.write(_plain(head, rows) + "\n")
    for board in boards:
        for false in board.false_pages:
            incident = false.incident
            out.write(f"false page in {board.scenario} ({false.because}): {incident.detector} {false.summary}\n")
        for verdict in board.verdicts:
            if verdict.fault.page and len(verdict.pages) > 1:
                out.write(f"{len(verdict.pages)} pages for one fault in {board.scenario}: {verdict.fault.name}\n")
                out.writelines(f"    {page}\n" for page in verdict.pages)
    out.write(closing(boards, wall_s) + "\n")


def closing(boards: Sequence[Scoreboard], wall_s: float) -> str:
    """The last line."""
    must = [v for board in boards for v in board.verdicts if v.fault.page]
    found = sum(v.found for v in must)
    false = sum(len(board.false_pages) for board in boards)
    return (
        f"{len(boards)} scenario{'s' if len(boards) != 1 else ''}: {found} of {len(must)} faults found with the "
        f"right cause, {false} false page{'s' if false != 1 else ''}, played in {wall_s:.1f} s"
    )


def _plain(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in (head, *rows)
    )


def _rich(head: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """A coloured table, if the terminal is wide enough for it; False: nothing was printed."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in head:
        shown.add_column(name, no_wrap=True)
    for row in rows:
        bad = any("MISSED" in cell or "PAGED" in cell for cell in row)
        shown.add_row(*map(escape, row), style="red" if bad else None)
    console = Console()
    if console.measure(shown, options=console.options.update(width=1000)).maximum > console.width:
        return False
    console.print(shown)
    return True


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
