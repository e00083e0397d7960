"""One write lock for all processes: a lock file beside a SQLite catalog, an advisory lock in PostgreSQL."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from warehouse.extensions import load_extension
from warehouse.place import Place

ADVISORY_KEY = 0x6C6F636B73746570
"""`lockstep` in ASCII: all warehouses of one PostgreSQL database share the lock."""


@contextmanager
def write_lock(place: Place) -> Iterator[None]:
    """Held around every write transaction and all maintenance. Waits; ends with the process that holds it."""
    if place.sqlite is not None:
        with _file_lock(place.sqlite.with_name(place.sqlite.name + ".lock")):
            yield
    else:
        with _advisory_lock(place.postgres or ""):
            yield


@contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@contextmanager
def _advisory_lock(dsn: str) -> Iterator[None]:
    with duckdb.connect() as connection:
        load_extension(connection, "postgres_scanner")
        quoted = dsn.replace("'", "''")
        connection.execute(f"attach '{quoted}' as lockdb (type postgres)")
        connection.begin()
        connection.execute(
            "select * from postgres_query('lockdb', $sql)",
            {"sql": f"select pg_advisory_xact_lock({ADVISORY_KEY})::text"},
        ).fetchall()
        yield
        connection.rollback()
