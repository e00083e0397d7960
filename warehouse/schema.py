"""Tables and views as the files under `sql/` say: made once, widened when a file has a new column."""

import csv
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import duckdb

from warehouse.place import Place
from warehouse.transaction import transact

SQL = Path(__file__).parent / "sql"
ROOM = Path(__file__).parent
LAKE = "lake"

HOUR, DAY, MONTH = (
    "year(ts), month(ts), day(ts), hour(ts)",
    "year(ts), month(ts), day(ts)",
    "year(ts), month(ts)",
)
FOLDERS = {
    "gpu_scrapes": HOUR,
    "gpu_fields": HOUR,
    "rank_steps": HOUR,
    "collectives": HOUR,
    "comm_members": HOUR,
    "collective_windows": HOUR,
    "port_scrapes": HOUR,
    "port_classes": HOUR,
    "port_fields": HOUR,
    "beats": DAY,
    "kernel_events": DAY,
    "scrape_errors": DAY,
    "rejected": DAY,
    "job_events": MONTH,
    "placements": MONTH,
    "finding_edges": MONTH,
    "incident_edges": MONTH,
    "node_scores": MONTH,
    "node_states": MONTH,
    "orders": MONTH,
}
"""A merge makes one file of a folder: the faster a table grows, the shorter the time that a folder holds."""

SORTED: dict[str, tuple[str, ...]] = {
    "gpu_scrapes": ("cluster", "gpu_uuid", "mig", "ts"),
    "gpu_fields": ("cluster", "field", "name", "gpu_uuid", "mig", "ts"),
    "rank_steps": ("cluster", "job", "rank", "step"),
    "collectives": ("cluster", "job", "comm", "rank", "seq"),
    "comm_members": ("cluster", "job", "comm", "rank", "ts"),
    "collective_windows": ("cluster", "job", "comm", "job_rank", "ts"),
    "port_scrapes": ("cluster", "device", "port", "ts"),
    "port_classes": ("cluster", "device", "port", "index", "ts"),
    "port_fields": ("cluster", "counter", "device", "port", "index", "ts"),
}
"""How a merge sorts: what one thing sent stands together, so that it packs and is found quickly."""

OPTIONS = {"parquet_compression": "zstd", "parquet_version": "2"}
COLUMN_NOTES = {
    "gpu_scrapes": "gpu_columns.csv",
    "port_scrapes": "port_columns.csv",
    "port_classes": "class_columns.csv",
}


def tables() -> dict[str, str]:
    """Table name -> its file's text."""
    return _texts("tables")


def views() -> dict[str, str]:
    """View name -> its file's text."""
    return _texts("views")


@cache
def digest() -> str:
    """Stands for the form of all tables and views of this version."""
    whole = hashlib.sha256()
    for texts in (tables(), views()):
        for name, text in texts.items():
            whole.update(f"{name}\0{text}\0".encode())
    whole.update(repr((FOLDERS, SORTED, OPTIONS)).encode())
    for name in COLUMN_NOTES.values():
        whole.update((ROOM / name).read_bytes())
    return whole.hexdigest()


def header(text: str) -> str:
    """The comment on top of a SQL file, as one line: the grain and what must not be summed."""
    lines = [line.removeprefix("--").strip() for line in text.splitlines() if line.startswith("--")]
    return " ".join(lines)


def upgrade(connection: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Bring the warehouse to this version's form. One look when it already has it; adds, never removes."""
    if _current(connection):
        return
    transact(connection, _build, place=place)


def _current(connection: duckdb.DuckDBPyConnection) -> bool:
    try:
        rows = connection.execute("select digest from warehouse_schema").fetchall()
    except duckdb.CatalogException:
        return False
    return rows == [(digest(),)]


def _build(connection: duckdb.DuckDBPyConnection) -> None:
    if _current(connection):
        return
    for name, value in OPTIONS.items():
        connection.execute(f"call {LAKE}.set_option('{name}', '{value}')")
    for name, text in tables().items():
        _table(connection, name, text)
    for name, text in views().items():
        connection.execute(text)
        connection.execute(f"comment on view {name} is {_quoted(header(text))}")
    connection.execute("delete from warehouse_schema")
    connection.execute("insert into warehouse_schema values ($digest)", {"digest": digest()})


def _table(connection: duckdb.DuckDBPyConnection, name: str, text: str) -> None:
    known = dict(_columns(connection, name))
    if known:
        for column, kind in wanted_columns(name, text).items():
            if column not in known:
                connection.execute(f'alter table {name} add column "{column}" {kind}')
    else:
        connection.execute(text)
        if name in FOLDERS:
            connection.execute(f"alter table {name} set partitioned by ({FOLDERS[name]})")
        if name in SORTED:
            keys = ", ".join(f'"{key}" asc' for key in SORTED[name])
            connection.execute(f"alter table {name} set sorted by ({keys})")
    connection.execute(f"comment on table {name} is {_quoted(header(text))}")
    for column, note in _notes(name):
        connection.execute(f'comment on column {name}."{column}" is {_quoted(note)}')


def wanted_columns(name: str, text: str) -> dict[str, str]:
    """Column -> type of the table that a SQL file makes, found by making it in an empty database."""
    with duckdb.connect() as scratch:
        scratch.execute(text)
        return dict(_columns(scratch, name))


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, str]]:
    return connection.execute(
        "select column_name, data_type from duckdb_columns()"
        " where database_name = current_database() and table_name = $table order by column_index",
        {"table": table},
    ).fetchall()


def _notes(table: str) -> Iterator[tuple[str, str]]:
    if table not in COLUMN_NOTES:
        return
    with (ROOM / COLUMN_NOTES[table]).open(newline="") as file:
        for row in csv.DictReader(file):
            yield row["column"], row["comment"]


@cache
def _texts(folder: str) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((SQL / folder).glob("*.sql"))}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
