"""A small warehouse of its own for each test, copied from an empty one."""

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from pipelines.rollup import Rollup, make_tables, rebuild_in
from pipelines.settings import pipeline_settings
from warehouse import connect, transact
from warehouse.loader import write
from warehouse.opening import Connection
from warehouse.place import place_of
from warehouse.settings import WarehouseSettings, warehouse_settings

Rows = list[dict[str, Any]]


class Lake:
    """A warehouse in a folder, open for one test: fill it, roll it up, ask it."""

    def __init__(self, folder: Path, connection: Connection) -> None:
        self.folder = folder
        self._connection = connection
        self._place = place_of(WarehouseSettings(state=str(folder)))

    def fill(self, *batches: tuple[Topic[Any], Iterable[Message]]) -> None:
        """Insert messages."""
        write(self._connection, [(topic, list(messages)) for topic, messages in batches], place=self._place)

    def roll(self, rollup: Rollup, start: datetime, end: datetime) -> dict[datetime | date, int]:
        """Rebuild a rollup's partitions; rows by partition."""
        return rebuild_in(self._connection, self._place, rollup, start, end, datetime.now(UTC))

    def ask(self, sql: str) -> Rows:
        """Rows as dictionaries."""
        found: Rows = self._connection.execute(sql).to_arrow_table().to_pylist()
        return found

    def change(self, sql: str) -> None:
        """One statement in a transaction of its own."""
        transact(self._connection, lambda inside: inside.execute(sql), place=self._place)


@pytest.fixture(scope="session")
def empty_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with every table and no row: making one takes longer than what most tests do with it."""
    folder = tmp_path_factory.mktemp("empty")
    settings = WarehouseSettings(state=str(folder))
    connection = connect(read_only=False, settings=settings)
    transact(connection, make_tables, place=place_of(settings))
    connection.close()
    return folder


@pytest.fixture(scope="session")
def session(empty_lake: Path) -> Iterator[Connection]:
    """One session for all tests: a third of a second goes into DuckDB's look at its extensions."""
    connection = connect(read_only=False, settings=WarehouseSettings(state=str(empty_lake)))
    connection.execute("use memory")
    connection.execute("detach lake")
    yield connection
    connection.close()


@pytest.fixture
def lake(tmp_path: Path, empty_lake: Path, session: Connection) -> Iterator[Lake]:
    shutil.copytree(empty_lake, tmp_path, dirs_exist_ok=True)
    home = tmp_path / "warehouse"
    # DuckLake keeps the data's path in its catalog: the copy gets its own.
    catalog = sqlite3.connect(home / "catalog.sqlite")
    with catalog:
        catalog.execute("update ducklake_metadata set value = ? where key = 'data_path'", (f"{home / 'data'}/",))
    catalog.close()
    session.execute(f"attach 'ducklake:sqlite:{home / 'catalog.sqlite'}' as lake (data_inlining_row_limit 0)")
    session.execute("use lake")
    yield Lake(tmp_path, session)
    session.execute("use memory")
    session.execute("detach lake")


@pytest.fixture
def state(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The test's warehouse is the process's own."""
    monkeypatch.setenv("LOCKSTEP_STATE", str(lake.folder))
    warehouse_settings.cache_clear()
    pipeline_settings.cache_clear()
    yield lake.folder
    warehouse_settings.cache_clear()
    pipeline_settings.cache_clear()
