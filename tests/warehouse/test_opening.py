"""`connect()`."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from collectors.contract.settings import SettingError
from warehouse.opening import WarehouseError, connect
from warehouse.place import place_of
from warehouse.settings import WarehouseSettings
from warehouse.transaction import transact


def test_a_reader_of_no_warehouse_is_told_where_it_was_looked_for(settings: WarehouseSettings) -> None:
    with pytest.raises(WarehouseError, match=r"no warehouse at .*catalog\.sqlite: `lockstep load` makes it"):
        connect(settings=settings)


def test_a_file_that_is_no_catalog_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to look at" * 100)
    with pytest.raises(WarehouseError, match="cannot open the warehouse at") as told:
        connect(settings=WarehouseSettings(state=str(tmp_path), catalog=str(path)))
    assert "\n" not in str(told.value)


def test_other_databases_are_refused_as_catalogs(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="name a SQLite file, or PostgreSQL"):
        place_of(WarehouseSettings(state=str(tmp_path), catalog="mysql:host=db"))


def test_times_are_utc_and_nothing_is_installed(lake: duckdb.DuckDBPyConnection) -> None:
    values = lake.execute(
        "select current_setting('TimeZone'), current_setting('autoinstall_known_extensions'),"
        " current_setting('autoload_known_extensions')"
    ).fetchall()
    assert values == [("UTC", False, False)]


def test_the_catalog_is_in_wal_mode_so_that_readers_do_not_wait(
    lake: duckdb.DuckDBPyConnection, settings: WarehouseSettings
) -> None:
    lake.execute("select count(*) from beats").fetchall()
    with closing(sqlite3.connect(str(place_of(settings).sqlite))) as catalog:
        assert catalog.execute("pragma journal_mode").fetchall() == [("wal",)]


def test_a_reader_cannot_write(lake: duckdb.DuckDBPyConnection, settings: WarehouseSettings) -> None:
    with (
        connect(settings=settings) as reader,
        pytest.raises(duckdb.InvalidInputException, match="read-only"),
    ):
        reader.execute("delete from beats")
    assert lake.execute("select count(*) from beats").fetchall() == [(0,)]


def test_an_open_reader_sees_what_is_committed_later_and_nothing_of_what_is_not(
    lake: duckdb.DuckDBPyConnection, settings: WarehouseSettings
) -> None:
    count = "select count(*) from beats"
    with connect(settings=settings) as reader:

        def work(inside: duckdb.DuckDBPyConnection) -> list[tuple[int]]:
            inside.execute("insert into beats (collector) values ('a'), ('b')")
            return reader.execute(count).fetchall()

        seen = transact(lake, work, place=place_of(settings))
        assert (seen, reader.execute(count).fetchall()) == ([(0,)], [(2,)])


def test_processes_that_open_a_warehouse_that_is_not_there_yet_make_it_once(tmp_path: Path) -> None:
    script = "from warehouse import connect; print(connect(read_only=False).execute('from beats').fetchall())"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env={"PATH": "/usr/bin:/bin", "LOCKSTEP_STATE": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    assert [process.communicate()[0] for process in started] == ["[]\n"] * 3


def test_writers_of_one_warehouse_take_turns(settings: WarehouseSettings) -> None:
    place = place_of(settings)
    connect(read_only=False, settings=settings).close()

    def add(name: str) -> None:
        with connect(read_only=False, settings=settings) as mine:
            for _ in range(5):
                transact(
                    mine,
                    lambda inside: inside.execute(
                        "insert into beats (collector, samples) select $name, count(*) from beats",
                        {"name": name},
                    ),
                    place=place,
                )

    writers = [threading.Thread(target=add, args=(name,)) for name in ("a", "b", "c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with connect(settings=settings) as reader:
        samples = reader.execute("select samples from beats order by samples").fetchall()
    assert samples == [(number,) for number in range(15)]


def test_nothing_of_a_transaction_that_fails_stays(
    lake: duckdb.DuckDBPyConnection, settings: WarehouseSettings
) -> None:
    def work(inside: duckdb.DuckDBPyConnection) -> None:
        inside.execute("insert into beats (collector) values ('a')")
        raise ValueError("midway")

    with pytest.raises(ValueError, match="midway"):
        transact(lake, work, place=place_of(settings))
    assert lake.execute("select count(*) from beats").fetchall() == [(0,)]
