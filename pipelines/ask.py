"""Reading the warehouse: statements of `sql/ask/`, rows as dictionaries."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.rollup import ALL, statement

if TYPE_CHECKING:
    from warehouse.settings import WarehouseSettings

Row = dict[str, Any]


class Ask(Protocol):
    """Rows of `sql/ask/NAME.sql`, with those of the values bound that it names."""

    def __call__(self, name: str, **values: object) -> list[Row]: ...


@contextmanager
def asking(settings: "WarehouseSettings | None" = None) -> Iterator[Ask]:
    """One session for many questions: opening the warehouse costs a third of a second.

    Rollup tables that were never built read as empty. Raises `UserError` without a warehouse.
    """
    from warehouse import connect

    connection = connect(settings=settings)
    try:
        there = {table for (table,) in connection.execute("select table_name from duckdb_tables()").fetchall()}
        never_built = [rollup.table for rollup in ALL if rollup.table not in there]
        if never_built:
            connection.execute("use memory")
            for table in never_built:
                connection.execute(statement("tables", table))
            connection.execute("use lake")

        def ask(name: str, **values: object) -> list[Row]:
            text = statement("ask", name)
            for table in never_built:
                text = text.replace(f"from {table}", f"from memory.{table}").replace(
                    f"join {table}", f"join memory.{table}"
                )
            cursor = connection.execute(text, {key: value for key, value in values.items() if f"${key}" in text})
            rows: list[Row] = cursor.to_arrow_table().to_pylist()
            return rows

        yield ask
    finally:
        connection.close()
