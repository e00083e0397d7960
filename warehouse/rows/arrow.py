"""Columns of plain values into Arrow tables of the types that the tables' SQL files say."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from collectors.contract.message import END_US, Message
from warehouse.schema import tables

Tables = dict[str, pa.Table]
Columns = Mapping[str, Any]
"""Column -> its values: a sequence, or an Arrow array of the column's own type."""


class Build(Protocol):
    """Rows of some messages of one topic, by table. Raises what `BAD_ROWS` lists for a message that has none."""

    def __call__(self, messages: Sequence[Message]) -> Tables: ...


BAD_ROWS = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError, TypeError)
"""What building raises when a value does not fit its column."""


@cache
def arrow_schema(table: str) -> pa.Schema:
    """The Arrow form of a table, found by making it in an empty database."""
    with duckdb.connect() as scratch:
        scratch.execute("set TimeZone = 'UTC'")
        scratch.execute(tables()[table])
        return scratch.execute(f"from {table}").to_arrow_table().schema


def build(table: str, columns: Columns) -> pa.Table:
    """Columns of equal length, by name; those left out are NULL. Times are Unix microseconds."""
    schema = arrow_schema(table)
    arrays, fields = [], []
    for name, values in columns.items():
        field = schema.field(name)
        if pa.types.is_timestamp(field.type):
            check_times(values)
        arrays.append(values if isinstance(values, pa.Array) else array(values, field.type))
        fields.append(field)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def array(values: Sequence[Any], kind: pa.DataType) -> "pa.Array[Any]":
    """Values as one type. A whole number too large for a float's digits is rounded, as the float would be."""
    made: pa.Array[Any]
    try:
        made = pa.array(values, kind)
    except pa.ArrowInvalid:
        if not pa.types.is_floating(kind):
            raise
        made = pa.array([None if value is None else float(value) for value in values], kind)
    return made


def check_times(values: Sequence[int | None]) -> None:
    """Raises ValueError for a time that is not Unix microseconds between 1970 and 9999."""
    known = [value for value in values if value is not None] if None in values else values
    if known and not 0 <= min(known) <= max(known) < END_US:  # type: ignore[type-var, operator]
        raise ValueError("a time is not in Unix microseconds (1970 to 9999)")


def from_rows(table: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Tables:
    """Rows as tuples: for tables of a few rows a message. No rows, no table."""
    if not rows:
        return {}
    return {table: build(table, dict(zip(names, zip(*rows, strict=True), strict=True)))}


def plain_rows(table: str, parts: Mapping[str, str], messages: Sequence[Message]) -> Tables:
    """A row a message. `parts`: column -> the field it comes from."""
    rows = [tuple(getattr(message, part) for part in parts.values()) for message in messages]
    return from_rows(table, tuple(parts), rows)


def check_parallel(what: str, values: Sequence[Any], count: int) -> None:
    """Raises ValueError for a column that has not one value a row."""
    if len(values) != count:
        raise ValueError(f"column {what} has {len(values)} values for {count} rows")
