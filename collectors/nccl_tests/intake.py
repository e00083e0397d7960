"""Bytes of a file into runs, whichever form they have."""

from dataclasses import dataclass

from collectors.nccl_tests.report import read_report
from collectors.nccl_tests.run import Run
from collectors.nccl_tests.table import BadRow, read_tables


@dataclass(frozen=True, slots=True)
class Found:
    """What a file has."""

    runs: list[Run]
    bad: list[BadRow]


def read_runs(raw: bytes) -> Found:
    """A `-J` report or printed tables. Raises ValueError for a broken report.

    A last line without its newline may be half a line: where it looks like a row it is bad, never read.
    """
    if raw[:1024].lstrip()[:1] == b"{":
        run = read_report(raw)
        return Found([run] if run.rows else [], [])
    whole, _, rest = raw.decode("utf-8", "replace").rpartition("\n")
    lines = whole.split("\n")
    tables = read_tables(lines)
    bad = list(tables.bad)
    if tables.expects(rest):
        bad.append(BadRow(len(lines) + 1, rest, "cut off: no newline ends it"))
    return Found(tables.runs, bad)
