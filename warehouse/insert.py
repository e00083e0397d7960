"""The one place where rows enter a table."""

from collections.abc import Mapping

import duckdb
import pyarrow as pa


def insert(connection: duckdb.DuckDBPyConnection, rows: Mapping[str, pa.Table]) -> None:
    """Insert Arrow tables, by table name and column name; columns left out become NULL."""
    for table, arrow in rows.items():
        connection.register("incoming", arrow)
        try:
            connection.execute(f"insert into {table} by name from incoming")
        finally:
            connection.unregister("incoming")
