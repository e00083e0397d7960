"""Rows of a time span from the files in `sql/past`, and runs of rows that were one message."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb

from collectors.contract.errors import UserError

FOLDER = Path(__file__).parent.parent / "sql" / "past"
Row = dict[str, Any]


@cache
def _text(name: str) -> str:
    return (FOLDER / f"{name}.sql").read_text()


def rows(connection: duckdb.DuckDBPyConnection, name: str, start_us: int, end_us: int) -> list[Row]:
    """Rows of one file, in its order. What was loaded twice stands twice.

    Raises `UserError` where an older version made the warehouse and no loader of this one has opened it yet.
    """
    bound = {"start": start_us, "end": end_us}
    text = _text(name)
    try:
        table = connection.execute(text, {key: value for key, value in bound.items() if f"${key}" in text})
    except (duckdb.CatalogException, duckdb.BinderException) as why:
        raise UserError(
            f"the warehouse lacks what {name} is read from, an older version made it: "
            f"run `lockstep load --once` of this version, which adds it ({str(why).splitlines()[0]})"
        ) from why
    found: list[Row] = table.to_arrow_table().to_pylist()
    return found


def runs(found: Sequence[Row], key: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], list[Row]]]:
    """Rows that follow each other with one key."""
    for values, group in groupby(found, key=itemgetter(*key)):
        yield values, list(group)


def sent(values: Sequence[Any]) -> list[Any]:
    """An optional column: empty where no row has a value."""
    return [] if all(value is None for value in values) else list(values)
