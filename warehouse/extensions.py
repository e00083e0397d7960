"""DuckDB's extensions come in wheels of the same version and are loaded from there; nothing is fetched."""

import importlib
from functools import cache
from pathlib import Path

import duckdb


def load_extension(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load `ducklake`, `sqlite_scanner`, `postgres_scanner` or `httpfs` by its path in the wheel.

    `connection` may allow unsigned extensions: what is loaded here had its signature checked.
    """
    package = importlib.import_module(f"duckdb_extension_{name}")
    folder = Path(package.__path__[0])
    connection.load_extension(_checked(str(next(folder.rglob("*.duckdb_extension")))))


@cache
def _checked(path: str) -> str:
    """Let DuckDB check the signature, once a process: 0.15 s of every connection otherwise."""
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as strict:
        strict.load_extension(path)
    return path
