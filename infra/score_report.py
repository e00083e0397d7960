"""The scoreboard for people (a table) and for programs (JSON)."""

import json
from collections.abc import Iterator, Sequence
from typing import IO

from infra.acceptance import shortfalls
from infra.detector_score import DetectorScore, by_detector, quantile, total
from infra.fleet.ecc_population import Calibration
from infra.fleet.fault import KINDS
from infra.scoreboard import Scoreboard, Verdict

FAULTS = ("scenario", "fault", "from", "verdict", "delay", "cause named", "pages")
DETECTORS = (
    "detector",
    "faults",
    "found",
    "false",
    "precision",
    "recall",
    "cause right",
    "pages/fault",
    "p50",
    "p99",
    "p99 scrapes",
    "p99 steps",
)


def document(boards: Sequence[Scoreboard], ecc: Calibration | None = None) -> str:
    """One JSON document of everything. `ecc`: tickets for corrected memory errors, over the published rates."""
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
            "total": _entry(total(boards)),
            "detectors": {score.name: _entry(score) for score in by_detector(boards)},
            "shortfalls": shortfalls(boards),
            "ecc_false_tickets_per_1000_gpu_days": None if ecc is None else ecc.false_per_1000,
        },
        indent=2,
    )


def _entry(score: DetectorScore) -> dict[str, object]:
    return {
        "faults": score.faults,
        "found": score.found,
        "precision": score.precision,
        "recall": score.recall,
        "cause_right": score.cause_right,
        "delay_p50_s": score.delay_s(0.5),
        "delay_p99_s": score.delay_s(0.99),
        "delay_p99_intervals": quantile(score.delays_intervals, 0.99),
        "delay_p99_steps": quantile(score.delays_steps, 0.99),
        "pages_per_fault": score.pages_per_fault,
        "false_pages": score.false_pages,
    }


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
        "optional": fault.optional,
        "expect": list(fault.expect),
        "good": verdict.good,
        "found": verdict.found,
        "cause": verdict.cause,
        "cause_right": verdict.cause_right,
        "delay_s": verdict.delay_s,
        "delay_intervals": verdict.delay_intervals,
        "delay_steps": verdict.delay_steps,
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
    """One row per detector and one for all, in the columns of `DETECTORS`."""
    return [
        (
            score.name,
            str(score.faults),
            str(score.found),
            str(score.false_pages),
            _number(score.precision, 3),
            _number(score.recall, 3),
            _number(score.cause_right, 3),
            _number(score.pages_per_fault, 2),
            _seconds(score.delay_s(0.5)),
            _seconds(score.delay_s(0.99)),
            _number(quantile(score.delays_intervals, 0.99), 1),
            _number(quantile(score.delays_steps, 0.99), 1),
        )
        for score in (*by_detector(boards), total(boards))
    ]


def verdict_word(verdict: Verdict) -> str:
    """In a word: what became of a fault."""
    if not verdict.fault.page:
        return "quiet, rightly" if verdict.good else "PAGED wrongly"
    if verdict.found:
        return "found"
    if verdict.fault.optional:
        return "not found, optional"
    if verdict.cause_right:
        return "MISSED (too late)"
    return "MISSED (wrong cause)" if verdict.cause is not None else "MISSED"


def table(boards: Sequence[Scoreboard], out: IO[str], wall_s: float, ecc: Calibration | None = None) -> None:
    """Tables: with rich on a terminal, plain columns otherwise."""
    faults, detectors = fault_rows(boards), detector_rows(boards)
    for head, rows in ((FAULTS, faults), (DETECTORS, detectors)):
        if not (out.isatty() and _rich(head, rows)):
            out.write(_plain(head, rows) + "\n")
    out.writelines(f"{line}\n" for line in misses(boards))
    if ecc is not None:
        out.write(f"{tickets(ecc)}\n")
    out.write(closing(boards, wall_s) + "\n")


def tickets(ecc: Calibration) -> str:
    """How often a ticket for corrected memory errors would be wrong."""
    return (
        f"corrected memory errors at the published rates: {ecc.false_per_1000:.3f} false tickets per 1,000 GPU-days "
        f"({ecc.false_tickets} in {ecc.gpu_days:,.0f}), {ecc.spells_found} of {ecc.spells} bad GPUs found"
    )


def misses(boards: Sequence[Scoreboard]) -> Iterator[str]:
    """What went wrong, in words: each fault that was missed or paged twice, each false page."""
    for board in boards:
        for verdict in board.missed:
            named = f"; named: {verdict.cause}" if verdict.cause is not None and not verdict.cause_right else ""
            late = f"; after {verdict.delay_s:g} s" if verdict.delay_s is not None else ""
            yield (
                f"missed in {board.scenario}: {verdict.fault.name} (size {verdict.fault.size:g}) from "
                f"{verdict.fault.from_s:g} s: no page with {' or '.join(verdict.fault.expect)} within "
                f"{verdict.fault.within_s:g} s{named}{late}"
            )
        for false in board.false_pages:
            incident = false.incident
            yield f"false page in {board.scenario} ({false.because}): {incident.detector} {false.summary}"
        for verdict in board.verdicts:
            if verdict.fault.page and len(verdict.pages) > 1:
                yield f"{len(verdict.pages)} pages for one fault in {board.scenario}: {verdict.fault.name}"
                yield from (f"    {page}" for page in verdict.pages)


def closing(boards: Sequence[Scoreboard], wall_s: float) -> str:
    """The last line."""
    must = [v for board in boards for v in board.verdicts if v.counts]
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


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
