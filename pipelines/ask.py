"""Reading the warehouse: a statement of `sql/ask/`, rows as dictionaries."""

from typing import Any

from pipelines.rollup import ALL, statement

Row = dict[str, Any]


def ask(name: str, **values: Any) -> list[Row]:
    """Rows of `sql/ask/NAME.sql`, with the values bound that it names. Raises `UserError` without a warehouse.

    Rollup tables that were never built read as empty.
    """
    from warehouse import connect

    text = statement("ask", name)
    connection = connect()
    try:
        there = {table for (table,) in connection.execute("select table_name from duckdb_tables()").fetchall()}
        for rollup in ALL:
            if rollup.table not in there:
                # A temporary table of the same form stands in for one that was never built.
                connection.execute("use memory")
                connection.execute(statement("tables", rollup.table))
                connection.execute("use lake")
                text = text.replace(f"from {rollup.table}", f"from memory.{rollup.table}")
        cursor = connection.execute(text, {k: v for k, v in values.items() if f"${k}" in text})
        rows: list[Row] = cursor.to_arrow_table().to_pylist()
        return rows
    finally:
        connection.close()
