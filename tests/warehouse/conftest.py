"""A warehouse of its own for each test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from warehouse.opening import connect
from warehouse.place import Place, place_of
from warehouse.settings import WarehouseSettings


@pytest.fixture
def settings(tmp_path: Path) -> WarehouseSettings:
    return WarehouseSettings(state=str(tmp_path), threads=1)


@pytest.fixture
def place(settings: WarehouseSettings) -> Place:
    return place_of(settings)


@pytest.fixture
def lake(settings: WarehouseSettings) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(read_only=False, settings=settings) as connection:
        yield connection
