"""Statements and their results: table, CSV, JSON, Parquet."""

import csv
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import duckdb

from collectors.contract.errors import UserError
from warehouse.sql_values import CUT, cell, plain, single

MANY = 10_000


class SqlError(UserError):
    """A statement that the database refused, in its words."""


@dataclass(slots=True)
class Output:
    """How results are written. `most` bounds the rows of a table; 0: no bound."""

    format: str
    most: int
    out: TextIO
    file: Path | None = None


def run_statements(connection: duckdb.DuckDBPyConnection, text: str, output: Output) -> None:
    """Run each statement and write what it returns. Raises `SqlError`."""
    try:
        statements = connection.extract_statements(text)
        if output.file is not None and len(statements) != 1:
            raise SqlError("--out takes the result of one statement")
        for statement in statements:
            _one(connection, statement, output)
    except duckdb.Error as why:
        raise SqlError(str(why).strip()) from why


def _one(connection: duckdb.DuckDBPyConnection, statement: Any, output: Output) -> None:
    if output.format == "parquet" and output.file is not None:
        relation = connection.sql(statement.query)
        if relation is None:
            raise SqlError("this statement returns no rows to write")
        part = output.file.with_name(output.file.name + ".part")
        relation.write_parquet(str(part), compression="zstd")
        part.replace(output.file)
        return
    result = connection.execute(statement)
    if not result.description:
        return
    names = [column[0] for column in result.description]
    target = output.file.open("w", newline="") if output.file else nullcontext(output.out)
    with target as out:
        match output.format:
            case "csv":
                _csv(result, names, out)
            case "json":
                _json(result, names, out)
            case _:
                _table(result, names, out, output.most)


def _csv(result: duckdb.DuckDBPyConnection, names: list[str], out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in _plain_rows(result):
        writer.writerow(
            [json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict, bool)) else value for value in row]
        )


def _json(result: duckdb.DuckDBPyConnection, names: list[str], out: TextIO) -> None:
    out.write("[")
    first = True
    for row in _plain_rows(result):
        out.write("\n" if first else ",\n")
        json.dump(dict(zip(names, row, strict=True)), out, ensure_ascii=False)
        first = False
    out.write("]\n" if first else "\n]\n")


def _plain_rows(result: duckdb.DuckDBPyConnection) -> Iterable[list[Any]]:
    convert = [single if str(column[1]) == "FLOAT" else plain for column in result.description or []]
    while rows := result.fetchmany(MANY):
        for row in rows:
            yield [to_plain(value) for to_plain, value in zip(convert, row, strict=True)]


def _table(result: duckdb.DuckDBPyConnection, names: list[str], out: TextIO, most: int) -> None:
    rows = result.fetchmany(most + 1) if most else result.fetchall()
    more = bool(most) and len(rows) > most
    rows = rows[:most] if more else rows
    width = shutil.get_terminal_size((0, 0)).columns if out.isatty() else 0
    for line in table_lines(names, rows, width):
        out.write(line + "\n")
    if more:
        sys.stderr.write(f"the first {most:,} rows; --rows 0 shows all\n")


def table_lines(names: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> Iterable[str]:
    """Columns side by side; where `width` (0: no bound) is too small, one value a line, record by record."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(len(name), *(len(row[at]) for row in cells)) if cells else len(name) for at, name in enumerate(names)]
    if width and sum(min(one, CUT) + 2 for one in widths) - 2 > width:
        yield from _records(names, cells)
        return
    if width:
        widths = [min(one, CUT) for one in widths]
    right = [_is_number(row[at] for row in rows) for at in range(len(names))]
    yield _line(names, widths, right)
    yield "  ".join("-" * one for one in widths)
    for row in cells:
        yield _line(row, widths, right)


def _records(names: Sequence[str], cells: Sequence[Sequence[str]]) -> Iterable[str]:
    left = max(map(len, names))
    for number, row in enumerate(cells, start=1):
        yield f"-- {number} --"
        for name, value in zip(names, row, strict=True):
            yield f"{name.ljust(left)}  {value}"


def _line(values: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = [
        (value if len(value) <= width else value[: width - 1] + "…").rjust(width)
        if to_right
        else (value if len(value) <= width else value[: width - 1] + "…").ljust(width)
        for value, width, to_right in zip(values, widths, right, strict=True)
    ]
    return "  ".join(parts).rstrip()


def _is_number(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known)
