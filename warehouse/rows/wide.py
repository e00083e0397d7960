"""Rows with a column a counter: lists that grow together, padded up to the row when a counter comes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from types import NoneType
from typing import Any

import pyarrow as pa

EXACT = 2**64

Spill = Callable[[int, str, Any], None]
"""Takes a row, a counter and a value that the counter's column cannot hold."""


class Wide:
    """Rows under way. `names`: counter -> column."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.count = 0
        self.values: dict[str, list[Any]] = defaultdict(list)
        self.unread: dict[int, list[str]] = {}

    def put(self, counter: str, values: Sequence[Any]) -> None:
        """Values of the rows that begin at `count`."""
        start, kept = self.count, self.values[counter]
        if len(kept) < start:
            kept.extend(repeat(None, start - len(kept)))
        kept += values
        if None in values:
            for at, value in enumerate(values, start=start):
                if value is None:
                    self.unread.setdefault(at, []).append(counter)

    def columns(self, spill: Spill) -> dict[str, Any]:
        """Column -> values, whole numbers from 0 to 2^64 - 1; others go to `spill`. `unread` too, where needed."""
        columns: dict[str, Any] = {}
        for counter, values in self.values.items():
            values.extend(repeat(None, self.count - len(values)))
            if not exact(values):
                for at, value in enumerate(values):
                    if not exact((value,)):
                        spill(at, counter, value)
                        values[at] = None
            columns[self.names[counter]] = pa.array(values, pa.uint64())
        if self.unread:
            columns["unread"] = [self.unread.get(at) for at in range(self.count)]
        return columns


def exact(values: Iterable[Any]) -> bool:
    """Whether all are whole numbers from 0 to 2^64 - 1, or None."""
    if not {*map(type, values)} <= {int, NoneType}:
        return False
    known = [value for value in values if value is not None]
    return not known or (min(known) >= 0 and max(known) < EXACT)
