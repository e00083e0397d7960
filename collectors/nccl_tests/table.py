"""What a benchmark prints: tables, with whatever else was printed in between.

Form: NVIDIA/nccl-tests src/util.cu and src/common.cu. Columns come from the table's own header, for releases
differ: older ones have no `root` and print `error` for `#wrong`, `-I` adds four columns a half, and a
collective without a reduction leaves `redop` blank in its rows.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from collectors.nccl_tests.run import IN_PLACE, OUT_OF_PLACE, Device, Row, Run, collective_of, number, pci_of, whole

_DEVICE = re.compile(
    r"#\s+Rank\s+(?P<rank>[0-9]{1,9})(?:\s+Group\s+[0-9]+)?\s+Pid\s+(?P<pid>[0-9]{1,9})\s+on\s+(?P<host>\S+)"
    r"\s+device\s+(?P<gpu>[0-9]{1,9})\s+\[(?P<at>[0-9a-fA-Fx:.]+)\]"
)
_STARTING = re.compile(r"#\s*Collective test starting:\s*(\S+)")
_FIRST = re.compile(r"#\s*(?:nccl-tests|rccl-tests) version |#\s*nThread \d+ nGpus \d+|#\s*Collective test starting")
_HEADER = re.compile(r"#\s+size\s+count\s+type\b")
_ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s+[a-z][a-z0-9_]*\s")


class TableError(ValueError):
    """A line that is no row; the text says why."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line that should have been a row."""

    number: int
    raw: str
    why: str


@dataclass(frozen=True, slots=True)
class Columns:
    """How many words begin a row, the columns of one half, and how many words of a time stamp end it."""

    heads: tuple[int, ...]
    half: tuple[str, ...]
    stamp: int


class Tables:
    """Takes a file's lines one after another. `runs` has those that have rows, `bad` the lines that were not read."""

    def __init__(self) -> None:
        self._run = Run()
        self._columns: Columns | None = None
        self._ended = False
        self.runs: list[Run] = []
        self.bad: list[BadRow] = []

    def add(self, number: int, line: str) -> None:
        """One line without its newline, its number counted from 1."""
        if line.startswith("#"):
            self._comment(line)
        elif self._columns is not None and self.expects(line):
            try:
                rows = read_row(line, self._columns)
            except ValueError as why:
                self.bad.append(BadRow(number, line, str(why)))
                return
            if not self._run.rows:
                self.runs.append(self._run)
            self._run.rows += rows

    def expects(self, line: str) -> bool:
        """Whether this would be read as a row."""
        return self._columns is not None and _ROW.match(line + " ") is not None

    def _comment(self, line: str) -> None:
        if _FIRST.match(line) and self._columns is not None:
            self._run, self._columns = Run(), None
        if found := _STARTING.match(line):
            self._run.collective = collective_of(found[1])
        if _FIRST.match(line):
            self._run.about.append(line.strip())
        elif found := _DEVICE.match(line):
            rank, pid, gpu = int(found["rank"]), int(found["pid"]), int(found["gpu"])
            self._run.devices.append(Device(rank, found["host"], pid, gpu, pci_of(found["at"])))
        elif _HEADER.match(line):
            self._columns = read_header(line)


def read_header(line: str) -> Columns:
    """Raises `TableError` where it has no time and bandwidths."""
    words = line.lstrip("# ").split()
    stamp = 2 if words[-1] == "timestamp" else 0
    try:
        first = next(i for i, word in enumerate(words) if word in ("time", "cputime"))
        second = next(i for i, word in enumerate(words) if i > first and word == words[first])
    except StopIteration:
        raise TableError(f"no two halves of times in the header {line.strip()!r}") from None
    half = tuple("wrong" if word == "#wrong" else word for word in words[first:second])
    if not {"algbw", "busbw"} <= set(half):
        raise TableError(f"no algbw and busbw in the header {line.strip()!r}")
    # With a root the reduction is always written, as `none` where there is none; without, it may be blank.
    heads = (first,) if "redop" not in words[:first] or "root" in words[:first] else (first, first - 1)
    return Columns(heads, half, stamp)


def read_row(line: str, columns: Columns) -> list[Row]:
    """Its two halves; only the one in place where the first is blank. Raises ValueError."""
    words = line.split()
    if columns.stamp:
        words = words[: -columns.stamp]
    fitting = [
        (halves, head) for halves in (2, 1) for head in columns.heads if len(words) == head + halves * len(columns.half)
    ]
    if not fitting:
        expected = columns.heads[0] + 2 * len(columns.half)
        raise TableError(f"{len(words)} words where the header has {expected}")
    halves, head = fitting[0]
    size, dtype = whole(words[0]), words[2]
    kinds = (OUT_OF_PLACE, IN_PLACE)[-halves:]
    return [
        _half(size, dtype, kind, dict(zip(columns.half, words[head + i * len(columns.half) :], strict=False)))
        for i, kind in enumerate(kinds)
    ]


def _half(size: int, dtype: str, kind: str, values: dict[str, str]) -> Row:
    return Row(
        bytes=size,
        dtype=dtype,
        variant=kind,
        time_us=number(values.get("time") or values["cputime"]),
        algbw_gbs=number(values["algbw"]),
        busbw_gbs=number(values["busbw"]),
        wrong=number(values["wrong"]) if "wrong" in values else None,
    )


def read_tables(lines: Iterable[str]) -> Tables:
    """All lines of one file. Headers that have no bandwidths are bad rows too."""
    tables = Tables()
    for count, line in enumerate(lines, start=1):
        try:
            tables.add(count, line)
        except TableError as why:
            tables.bad.append(BadRow(count, line, str(why)))
    return tables
