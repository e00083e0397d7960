"""DuckDB's extensions come in wheels of the same version and are loaded from there; nothing is fetched."""

import importlib
from pathlib import Path

import duckdb


def load_extension(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load `ducklake`, `sqlite_scanner`, `postgres_scanner` or `httpfs` by its path in the wheel."""
    package = importlib.import_module(f"duckdb_extension_{name}")
    folder = Path(package.__path__[0])
    connection.load_extension(str(next(folder.rglob("*.duckdb_extension"))))
