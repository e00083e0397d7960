"""The counter tables: native name -> canonical counter, for every kind of source.

`counters.csv` has one row a native name; `canonical.csv` what each canonical name means in unit, class and
scope; `states.csv` the codes of states that arrive as words (IF-MIB's ifOperStatus numbers where there are
any); `sources.csv` where the native names are documented.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, cast, get_args

Kind = Literal["counter", "saturating_counter", "gauge", "state", "event"]
IGNORED = "ignored"
"""The canonical name of what is understood and not collected: size histograms, RMON twins, settings."""

_ROOM = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Counter:
    """One row of the table. `rank` orders twins, best first: the widest, then the first in the file."""

    canonical: str
    unit: str
    kind: Kind
    bits: int
    """0: the source does not say."""
    class_: str
    scope: str
    rank: tuple[int, int]
    index: str | None = None
    """The priority, lane or bin that a pattern took from the native name."""

    @property
    def ignored(self) -> bool:
        """Understood, and not worth keeping."""
        return self.canonical == IGNORED


@dataclass(frozen=True, slots=True)
class Canonical:
    """What a canonical name means, whatever the source."""

    unit: str
    class_: str
    scope: str
    direction: str


class CounterTable:
    """All names of one source system. An exact name wins over a pattern."""

    def __init__(self, exact: dict[str, Counter], patterns: list[tuple[str, re.Pattern[str], Counter]]) -> None:
        self.exact = exact
        self._patterns = patterns

    def find(self, native: str) -> Counter | None:
        """None: no row matches, the name is unknown."""
        if (row := self.exact.get(native)) is not None:
            return row
        for _, pattern, row in self._patterns:
            if found := pattern.fullmatch(native):
                return replace(row, index=next(iter(found.groups()), None))
        return None

    def named(self) -> Iterator[tuple[str, Counter]]:
        """Every row: the native name or pattern as the table writes it."""
        yield from self.exact.items()
        yield from ((written, row) for written, _, row in self._patterns)


@cache
def canonicals() -> dict[str, Canonical]:
    """Every canonical name."""
    return {
        row["canonical_name"]: Canonical(row["unit"], row["class"], row["scope"], row["direction"])
        for row in _rows("canonical.csv")
    }


@cache
def counter_table(system: str) -> CounterTable:
    """The table of one source system, such as `openconfig` or `sonic`. Raises KeyError for an unknown one."""
    exact: dict[str, Counter] = {}
    patterns: list[tuple[str, re.Pattern[str], Counter]] = []
    for order, row in enumerate(_rows("counters.csv")):
        if row["source_system"] != system:
            continue
        if row["kind"] not in get_args(Kind):
            raise ValueError(f"counters.csv: {row['native_name']}: unknown kind {row['kind']!r}")
        bits, canonical = int(row["width_bits"]), row["canonical_name"]
        counter = Counter(
            canonical=canonical,
            unit=row["unit"],
            kind=cast(Kind, row["kind"]),
            bits=bits,
            class_=row["class"],
            scope=canonicals()[canonical].scope,
            rank=(-bits, order),
        )
        if pattern := _pattern(row["native_name"]):
            patterns.append((row["native_name"], pattern, counter))
        else:
            exact[row["native_name"]] = counter
    if not exact and not patterns:
        raise KeyError(system)
    return CounterTable(exact, patterns)


@cache
def state_codes(canonical: str) -> dict[str, int]:
    """WORD -> code of a state; empty where the state has no codes and stays text."""
    return {row["text"]: int(row["code"]) for row in _rows("states.csv") if row["canonical_name"] == canonical}


def _pattern(native: str) -> re.Pattern[str] | None:
    """`{a..b}` a number in that range, `[p]` a priority 0-7, `[l]` a lane, `*` any text within one element."""
    parts = re.split(r"(\{\d+\.\.\d+\}|\[p\]|\[l\]|\*)", native)
    if len(parts) == 1:
        return None
    return re.compile("".join(_piece(part) for part in parts))


def _piece(part: str) -> str:
    if part == "*":
        return "[^/]*"
    if part == "[p]":
        return "([0-7])"
    if part == "[l]":
        return r"(\d+)"
    if found := re.fullmatch(r"\{(\d+)\.\.(\d+)\}", part):
        low, high = map(int, found.groups())
        return "(" + "|".join(str(n) for n in range(high, low - 1, -1)) + ")"
    return re.escape(part)


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (_ROOM / name).open(newline="") as lines:
        yield from csv.DictReader(lines)
