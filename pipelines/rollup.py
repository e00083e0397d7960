"""Rebuilding a partition: delete and insert in one transaction, so that running it twice changes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.contract.errors import UserError
from pipelines.peaks import peak_flops

if TYPE_CHECKING:
    from warehouse.opening import Connection
    from warehouse.place import Place
    from warehouse.settings import WarehouseSettings

SQL = Path(__file__).parent / "sql"
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Rollup:
    """One table that is rebuilt by its partition column from one SELECT."""

    table: str
    column: str
    """`hour` or `day`: what a partition is."""

    @property
    def grain(self) -> timedelta:
        """Length of one partition."""
        return HOUR if self.column == "hour" else DAY


GPU_DAYS = Rollup("gpu_days", "day")
JOB_DAYS = Rollup("job_days", "day")
MFU_HOURLY = Rollup("mfu_hourly", "hour")
USABLE_HOURLY = Rollup("usable_compute_hourly", "hour")
HEALTH_HOURLY = Rollup("fleet_health_hourly", "hour")
MFU_DAILY = Rollup("mfu_daily", "day")
USABLE_DAILY = Rollup("usable_compute_daily", "day")
HEALTH_DAILY = Rollup("fleet_health_daily", "day")
EFFECTIVE_DAILY = Rollup("effective_compute_daily", "day")
RELIABILITY_DAILY = Rollup("reliability_daily", "day")

HOURLY = (MFU_HOURLY, USABLE_HOURLY, HEALTH_HOURLY)
DAILY = (MFU_DAILY, USABLE_DAILY, HEALTH_DAILY, EFFECTIVE_DAILY, RELIABILITY_DAILY)
ALL = (GPU_DAYS, JOB_DAYS, *HOURLY, *DAILY)


@cache
def statement(kind: str, table: str) -> str:
    """The text of `sql/KIND/TABLE.sql`."""
    return (SQL / kind / f"{table}.sql").read_text()


def make_tables(connection: "Connection") -> None:
    """Create the rollup tables that are not there, and widen earlier forms (inside a transaction of the caller's)."""
    known = _columns(connection)
    for rollup in ALL:
        if rollup.table not in known:
            connection.execute(statement("tables", rollup.table))
            continue
        for name, kind in _form(rollup.table).items():
            if name not in known[rollup.table]:
                connection.execute(f'alter table {rollup.table} add column "{name}" {kind}')


def aligned(rollup: Rollup, moment: datetime) -> datetime:
    """The start of the partition that holds `moment` (UTC)."""
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day if rollup.column == "day" else moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def rebuild(
    rollup: Rollup,
    start: datetime,
    end: datetime,
    *,
    settings: "WarehouseSettings | None" = None,
    as_of: datetime | None = None,
) -> dict[datetime | date, int]:
    """Rebuild the whole partitions of [start, end); returns the rows that stand there now by partition, where any do.

    Raises `UserError` when the bounds are not partition bounds, or there is no warehouse.
    """
    with writing(settings) as (connection, place):
        return rebuild_in(connection, place, rollup, start, end, as_of or datetime.now(UTC))


@contextmanager
def writing(settings: "WarehouseSettings | None" = None) -> "Iterator[tuple[Connection, Place]]":
    """A session that may write, with the rollup tables there. Raises `UserError` without a warehouse."""
    from warehouse import connect, transact
    from warehouse.place import place_of
    from warehouse.settings import warehouse_settings

    settings = settings or warehouse_settings()
    place = place_of(settings)
    if place.sqlite is not None and not place.sqlite.exists():
        connect(settings=settings)  # Says that there is none: a rollup of nothing makes no warehouse.
    connection = connect(read_only=False, settings=settings)
    try:
        known = _columns(connection)
        if any(not _form(r.table).keys() <= known.get(r.table, set()) for r in ALL):
            transact(connection, make_tables, place=place)
        yield connection, place
    finally:
        connection.close()


def rebuild_in(
    connection: "Connection", place: "Place", rollup: Rollup, start: datetime, end: datetime, as_of: datetime
) -> dict[datetime | date, int]:
    """`rebuild` in a session that is open. The SELECT runs before the write lock is taken: the loader waits for the
    insert alone."""
    from warehouse import transact

    if aligned(rollup, start) != start or aligned(rollup, end) != end or start >= end:
        raise UserError(f"{rollup.table}: {start} to {end} are no whole {rollup.column}s")
    bounds = {"start": start, "end": end}
    select = statement("rollups", rollup.table)
    if "peaks" in select:
        _register_peaks(connection, start)
    values = {name: value for name, value in {**bounds, "as_of": as_of}.items() if f"${name}" in select}
    connection.execute(f"create or replace temp table fresh as {select}", values)

    def work(inside: "Connection") -> None:
        where = f"where {rollup.column} >= $start and {rollup.column} < $end"
        inside.execute(f"delete from {rollup.table} {where}", bounds)
        inside.execute(f"insert into {rollup.table} by name select * from temp.fresh")

    transact(connection, work, place=place)
    return dict(connection.execute(f"select {rollup.column}, count(*) from temp.fresh group by all").fetchall())


def rebuild_day(day: date) -> None:
    """Rebuild one UTC day of every rollup, in order: the inventory, its hours that are over, its sums."""
    now = datetime.now(UTC)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    over = min(start + DAY, aligned(MFU_HOURLY, now))
    with writing() as (connection, place):
        for rollup in ALL:
            end = over if rollup.column == "hour" else start + DAY
            if end > start:
                rebuild_in(connection, place, rollup, start, end, now)


def _columns(connection: "Connection") -> dict[str, set[str]]:
    """Table -> its columns, of the tables that are there."""
    rows = connection.execute("select table_name, column_name from duckdb_columns() where not internal").fetchall()
    out: dict[str, set[str]] = {}
    for table, column in rows:
        out.setdefault(table, set()).add(column)
    return out


@cache
def _form(table: str) -> dict[str, str]:
    """Column -> type, as the table's file says."""
    from warehouse.schema import wanted_columns

    return wanted_columns(table, statement("tables", table))


def _register_peaks(connection: "Connection", start: datetime) -> None:
    """`peaks(gpu_model, dtype, peak_flops)` for the models and data types that the warehouse knows of."""
    import pyarrow as pa

    models = connection.execute(
        "select distinct model from gpu_days where model is not null and day >= $start::DATE - interval 15 day union "
        "select distinct gpu_model from placements where gpu_model is not null and ts >= $start - interval 180 day",
        {"start": start},
    ).fetchall()
    dtypes = connection.execute(
        "select distinct dtype from job_days where dtype is not null and day >= $start::DATE - interval 180 day",
        {"start": start},
    ).fetchall()
    rows = [
        (model, dtype, peak)
        for (model,) in models
        for (dtype,) in dtypes
        if (peak := peak_flops(model, dtype)) is not None
    ]
    columns = {
        "gpu_model": pa.array([row[0] for row in rows], pa.string()),
        "dtype": pa.array([row[1] for row in rows], pa.string()),
        "peak_flops": pa.array([row[2] for row in rows], pa.float64()),
    }
    connection.register("peaks", pa.table(columns))
