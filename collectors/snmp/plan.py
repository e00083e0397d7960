"""The requests of a sweep, prepared once: consecutive rows of columns that have the same rows."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from collectors.snmp.layout import Layout, Wanted
from collectors.snmp.pdu import Request, get_bulk

MOST_COLUMNS = 10
"""Of one request; more make the question longer and each answer fewer rows deep."""
LARGEST_GAP = 2
"""Rows of no port that are read over: a request more costs more."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One GETBULK and the instances that it must bring, of those that are kept."""

    request: Request
    names: tuple[bytes, ...]
    count: int
    """Varbinds that the agent is asked for."""


def plan(layout: Layout, varbinds: int, *, slow: bool) -> list[Asked]:
    """The requests for the slow columns, or for all others, none of them for more than so many varbinds."""
    kept = layout.cells.keys() | layout.others.keys() | layout.names.keys()
    return [asked for wanted in layout.wanted if wanted.slow is slow for asked in _of(wanted, varbinds, kept)]


def _of(wanted: Wanted, varbinds: int, kept: Container[bytes]) -> Iterator[Asked]:
    width = min(MOST_COLUMNS, varbinds)
    for at in range(0, len(wanted.columns), width):
        columns = wanted.columns[at : at + width]
        most = max(1, varbinds // len(columns))
        for first, last in _runs(wanted, columns, kept, most):
            before = wanted.rows[first - 1] if first else b""
            rows = wanted.rows[first : last + 1]
            names = tuple(name for row in rows for column in columns if (name := column + row) in kept)
            request = get_bulk([column + before for column in columns], len(rows))
            yield Asked(request, names, len(rows) * len(columns))


def _runs(wanted: Wanted, columns: tuple[bytes, ...], kept: Container[bytes], most: int) -> Iterator[tuple[int, int]]:
    """First and last of the rows that are asked for together."""
    first = last = None
    for at, row in enumerate(wanted.rows):
        if not any(column + row in kept for column in columns):
            continue
        if first is None or last is None:
            first = last = at
        elif at - last - 1 > LARGEST_GAP or at - first >= most:
            yield first, last
            first = last = at
        else:
            last = at
    if first is not None and last is not None:
        yield first, last
