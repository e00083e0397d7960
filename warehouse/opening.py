"""`connect()`: a DuckDB session on the warehouse, every time the same."""

import duckdb

from collectors.contract.errors import UserError
from warehouse.extensions import load_extension
from warehouse.lock import write_lock
from warehouse.place import Place, place_of
from warehouse.schema import upgrade
from warehouse.settings import S3Settings, WarehouseSettings, s3_settings, warehouse_settings

Connection = duckdb.DuckDBPyConnection
"""What `connect()` gives; other rooms name it without importing DuckDB."""

LAKE = "lake"
BUSY_MS = 30_000


class WarehouseError(UserError):
    """The warehouse cannot be opened; the text says where it was looked for and what to do."""


def connect(read_only: bool = True, settings: WarehouseSettings | None = None) -> duckdb.DuckDBPyConnection:
    """Open the warehouse in a session of its own: UTC, no inlining, nothing fetched or installed.

    A reader sees whole commits only, takes no lock, and never waits for the writer. A writer makes the
    warehouse where there is none, and brings tables and views to this version's form; it writes through
    `warehouse.transaction.transact`. Raises `WarehouseError`.
    """
    settings = settings or warehouse_settings()
    place = place_of(settings)
    if read_only:
        _must_exist(place)
    else:
        _make_room(place)
    connection = _session(settings)
    try:
        if read_only:
            _attach(connection, place, read_only)
        else:
            with write_lock(place):
                _attach(connection, place, read_only)
            upgrade(connection, place)
    except duckdb.Error as why:
        connection.close()
        raise WarehouseError(_explain(place, why)) from why
    return connection


def _session(settings: WarehouseSettings) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_unsigned_extensions": True,  # `load_extension` checks, once a process
    }
    if settings.threads:
        config["threads"] = settings.threads
    if settings.memory:
        config["memory_limit"] = settings.memory
    try:
        connection = duckdb.connect(config=config)
    except duckdb.Error as why:
        raise WarehouseError(f"LOCKSTEP_WAREHOUSE_THREADS or LOCKSTEP_WAREHOUSE_MEMORY cannot be used: {why}") from why
    connection.execute("set TimeZone = 'UTC'")
    connection.execute("set enable_progress_bar = false")
    return connection


def _attach(connection: duckdb.DuckDBPyConnection, place: Place, read_only: bool) -> None:
    load_extension(connection, "ducklake")
    options = [f"data_path {_quoted(place.data)}", "data_inlining_row_limit 0"]
    if place.sqlite is not None:
        load_extension(connection, "sqlite_scanner")
        options += [f"meta_busy_timeout {BUSY_MS}"]
        if not read_only:
            options += ["meta_journal_mode 'WAL'"]
    else:
        load_extension(connection, "postgres_scanner")
    if place.folder is None:
        load_extension(connection, "httpfs")
        _s3_secret(connection, s3_settings())
    if read_only:
        options += ["read_only"]
    connection.execute(f"attach {_quoted('ducklake:' + place.catalog)} as {LAKE} ({', '.join(options)})")
    connection.execute(f"use {LAKE}")


def _s3_secret(connection: duckdb.DuckDBPyConnection, s3: S3Settings) -> None:
    parts = {"key_id": s3.key, "secret": s3.secret, "session_token": s3.token, "region": s3.region}
    if s3.endpoint:
        scheme, _, address = s3.endpoint.rpartition("://")
        parts |= {
            "endpoint": address.rstrip("/"),
            "url_style": "path",
            "use_ssl": "false" if scheme == "http" else "true",
        }
    named = "".join(f", {name} {_quoted(value)}" for name, value in parts.items() if value)
    connection.execute(f"create secret lake_data (type s3{named})")


def _must_exist(place: Place) -> None:
    if place.sqlite is not None and not place.sqlite.exists():
        raise WarehouseError(
            f"no warehouse at {place.sqlite}: `lockstep load` makes it, or set LOCKSTEP_WAREHOUSE to another"
        )


def _make_room(place: Place) -> None:
    for folder in (place.sqlite.parent if place.sqlite else None, place.folder):
        if folder is None:
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as why:
            raise WarehouseError(f"cannot make the warehouse's folder {folder}: {why.strerror}") from why


def _explain(place: Place, why: duckdb.Error) -> str:
    where = place.sqlite or "the PostgreSQL catalog"
    text = str(why).strip().partition("\n")[0]
    if place.postgres:
        text = text.replace(place.postgres, "(DSN)")
    if "does not match existing data path" in text:
        return f"{where} keeps its data elsewhere than LOCKSTEP_WAREHOUSE_DATA={place.data}: {text}"
    return f"cannot open the warehouse at {where}: {text}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
