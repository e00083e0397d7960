"""Tables and views."""

from pathlib import Path

import duckdb
import pytest

from tests.warehouse.messages import one_of_each
from warehouse import schema
from warehouse.loader import write
from warehouse.opening import connect
from warehouse.place import Place
from warehouse.rows.arrow import arrow_schema
from warehouse.rows.fabric import class_columns, port_columns
from warehouse.rows.gpu import gpu_columns
from warehouse.rows.topics import BUILDS, LOADED
from warehouse.settings import WarehouseSettings

SQL = Path(schema.__file__).parent / "sql"


def test_every_topic_has_rows() -> None:
    assert BUILDS.keys() == LOADED.keys()


def test_every_column_file_agrees_with_its_table() -> None:
    assert set(gpu_columns().values()) <= set(arrow_schema("gpu_scrapes").names)
    assert set(port_columns().values()) <= set(arrow_schema("port_scrapes").names)
    assert arrow_schema("port_classes").names[-len(class_columns()) :] == list(class_columns().values())
    assert arrow_schema("gpu_scrapes").names[-len(gpu_columns()) :] == list(gpu_columns().values())
    assert arrow_schema("port_scrapes").names[-len(port_columns()) :] == list(port_columns().values())


@pytest.mark.parametrize("path", sorted(SQL.rglob("*.sql")), ids=lambda path: path.stem)
def test_every_statement_says_its_grain_or_its_reason_first_and_stands_alone(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("-- ")
    assert len(duckdb.extract_statements(text)) == 1
    if path.parent.name in ("tables", "views"):
        assert text.startswith("-- Grain: ")


def test_one_message_of_each_topic_fills_every_table_and_every_view(
    lake: duckdb.DuckDBPyConnection, place: Place
) -> None:
    assert write(lake, [(topic, [message]) for topic, message in one_of_each()], place=place) == 15
    empty = [
        name
        for name in (*schema.tables(), *schema.views())
        if lake.execute(f"select count(*) from {name}").fetchall() == [(0,)]
    ]
    assert empty == ["loader_offsets"]


def test_tables_views_and_measured_columns_carry_comments(lake: duckdb.DuckDBPyConnection) -> None:
    tables = dict(
        lake.execute("select table_name, comment from duckdb_tables() where database_name = 'lake'").fetchall()
    )
    views = dict(
        lake.execute(
            "select view_name, comment from duckdb_views() where database_name = 'lake' and not internal"
        ).fetchall()
    )
    columns = dict(
        lake.execute(
            "select column_name, comment from duckdb_columns()"
            " where database_name = 'lake' and table_name = 'gpu_scrapes' and comment is not null"
        ).fetchall()
    )
    assert tables == {name: schema.header(text) for name, text in schema.tables().items()}
    assert views == {name: schema.header(text) for name, text in schema.views().items()}
    assert columns.keys() == set(gpu_columns().values())


def test_rows_are_never_kept_in_the_catalog(lake: duckdb.DuckDBPyConnection, place: Place) -> None:
    write(lake, [(topic, [message]) for topic, message in one_of_each()], place=place)
    files = lake.execute(
        "select table_name, file_count from ducklake_table_info('lake') where file_count = 0"
    ).fetchall()
    assert files == [("loader_offsets", 0)]


def test_a_newer_version_adds_its_column_and_keeps_the_rows(
    settings: WarehouseSettings, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(read_only=False, settings=settings) as old:
        write(old, [(topic, [message]) for topic, message in one_of_each()], place=place)
    wider = dict(schema.tables())
    wider["beats"] = wider["beats"].replace("error VARCHAR", "error VARCHAR, weight_kg DOUBLE")
    monkeypatch.setattr(schema, "tables", lambda: wider)
    schema.digest.cache_clear()
    try:
        with connect(read_only=False, settings=settings) as new:
            rows = new.execute("select collector, weight_kg from beats").fetchall()
    finally:
        schema.digest.cache_clear()
    assert rows == [("dcgm@n1", None)]
