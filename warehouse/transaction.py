"""Writing: one writer at a time, whole transactions, tried again as a whole."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import duckdb

from warehouse.lock import write_lock
from warehouse.place import Place, place_of
from warehouse.settings import warehouse_settings

T = TypeVar("T")

ATTEMPTS = 6
WAIT_S = 0.2
_never = threading.Event()


def transact(
    connection: duckdb.DuckDBPyConnection,
    work: Callable[[duckdb.DuckDBPyConnection], T],
    *,
    place: Place | None = None,
    attempts: int = ATTEMPTS,
) -> T:
    """Run `work` inside one transaction under the write lock and return what it returned.

    Nothing of it stays when it raises. A conflict or a busy catalog undoes it and runs it again from its
    start, at most `attempts` times: `work` must not have effects outside the transaction.
    """
    place = place or place_of(warehouse_settings())
    with write_lock(place):
        for attempt in range(1, attempts + 1):
            try:
                return _once(connection, work, place)
            except duckdb.Error as why:
                if attempt == attempts or not passing(why):
                    raise
            _never.wait(WAIT_S * attempt)
    raise AssertionError("unreachable")


def _once(connection: duckdb.DuckDBPyConnection, work: Callable[[duckdb.DuckDBPyConnection], T], place: Place) -> T:
    began_s = time.time()
    connection.begin()
    try:
        result = work(connection)
    except BaseException as why:
        roll_back(connection)
        if isinstance(why, duckdb.IOException) and place.folder is not None:
            remove_unfinished(place.folder, began_s)
        raise
    try:
        connection.commit()
    except BaseException:
        roll_back(connection)
        raise
    return result


def remove_unfinished(folder: Path, since_s: float) -> None:
    """Remove files of an attempt that failed before its commit: a full disk must not fill up with halves.

    Under the write lock nobody else writes, so every file since the attempt's begin is its own.
    """
    for path in folder.rglob("*.parquet"):
        if path.stat().st_mtime > since_s:
            path.unlink()


def roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    """Leave the transaction, if one is still open."""
    try:
        connection.rollback()
    except duckdb.TransactionException:
        return


def passing(why: duckdb.Error) -> bool:
    """Whether the same transaction may succeed a moment later."""
    text = str(why).lower()
    return isinstance(why, duckdb.TransactionException) or any(
        word in text for word in ("conflict", "database is locked", "busy", "could not serialize")
    )
