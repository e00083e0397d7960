"""Keeping the warehouse small and quick: merge, rewrite, expire, clean up, remove orphans."""

import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.lock import write_lock
from warehouse.place import Place, place_of
from warehouse.settings import warehouse_settings

SQL = Path(__file__).parent / "sql" / "maintenance"
HOUR_US = 3_600_000_000
LATE_US = 120_000_000
"""An hour counts as closed when event time is this far past it: what is later merges with the next hour's."""
APART_S = 600.0
"""No two rounds within this time: a past that is loaded quickly closes many hours a minute."""
ORPHAN_H = 24.0
"""A file that no snapshot names may belong to a transaction under way; none lasts this long."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one round did. Bytes and files are those that the newest snapshot reads."""

    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"maintenance: {self.files_before:,} files of {self.bytes_before / 1e6:,.1f} MB became "
            f"{self.files_after:,} of {self.bytes_after / 1e6:,.1f} MB in {self.seconds:.1f} s"
        )


def run(
    connection: duckdb.DuckDBPyConnection, *, place: Place | None = None, retention_h: float | None = None
) -> Report:
    """One round over all tables, the pipelines' too. Takes the write lock table by table, so that others get between.

    Readers go on: files that were merged away, and snapshots, stay for `retention_h`.
    """
    place = place or place_of(warehouse_settings())
    keep_h = warehouse_settings().retention_h if retention_h is None else retention_h
    began = time.monotonic()
    files_before, bytes_before = _size(connection)
    with write_lock(place):
        _clean_up(connection, keep_h)
    for (table,) in connection.execute(_text("tables")).fetchall():
        with write_lock(place):
            for step in ("rewrite", "merge"):
                connection.execute(_text(step), {"table": table}).fetchall()
    with write_lock(place):
        old = [version for (version,) in connection.execute(_text("old_snapshots"), {"hours": keep_h}).fetchall()]
        if old:
            connection.execute(_text("expire"), {"versions": old}).fetchall()
        if keep_h == 0:
            _clean_up(connection, keep_h)
        (before,) = connection.execute(_text("moment"), {"hours": max(keep_h, ORPHAN_H)}).fetchall()[0]
        connection.execute(_text("orphans"), {"before": before}).fetchall()
    files_after, bytes_after = _size(connection)
    return Report(files_before, files_after, bytes_before, bytes_after, time.monotonic() - began)


@dataclass(slots=True)
class Due:
    """When the loader does a round: soon after its start, then each time an hour of event time has closed."""

    hour: int | None = None
    last_s: float = 0.0

    def now(self, newest_us: int, now_s: float) -> bool:
        """`newest_us`: the latest event time loaded, 0 for none. True is counted as done."""
        if newest_us == 0:
            return False
        hour = (newest_us - LATE_US) // HOUR_US
        if self.hour is None:
            self.hour, self.last_s = hour - 1, now_s
        if hour <= self.hour or now_s - self.last_s < APART_S:
            return False
        self.hour, self.last_s = hour, now_s
        return True


def _clean_up(connection: duckdb.DuckDBPyConnection, keep_h: float) -> None:
    """Remove the files that the rounds before this one left over, once no reader can need them.

    With a SQLite catalog DuckLake compares times as text, right to the day only: hence all at once when all are
    old enough, else those of days before.
    """
    if connection.execute(_text("all_are_old"), {"hours": keep_h}).fetchall() == [(True,)]:
        connection.execute(_text("clean_up_all")).fetchall()
        return
    (before,) = connection.execute(_text("day_before"), {"hours": keep_h}).fetchall()[0]
    connection.execute(_text("clean_up"), {"before": before}).fetchall()


def _size(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    files, size = connection.execute(_text("size")).fetchall()[0]
    return int(files), int(size)


def _text(name: str) -> str:
    return (SQL / f"{name}.sql").read_text()
