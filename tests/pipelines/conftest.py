"""A small warehouse of its own for each test."""

from collections.abc import Callable, Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from pipelines.rollup import Rollup, rebuild
from warehouse import connect
from warehouse.loader import write
from warehouse.place import place_of
from warehouse.settings import WarehouseSettings

Rows = list[dict[str, Any]]


class Lake:
    """A warehouse in a folder: fill it, roll it up, ask it."""

    def __init__(self, folder: Path) -> None:
        self.settings = WarehouseSettings(state=str(folder))

    def fill(self, *batches: tuple[Topic[Any], Iterable[Message]]) -> None:
        """Insert messages."""
        connection = connect(read_only=False, settings=self.settings)
        write(connection, [(topic, list(messages)) for topic, messages in batches], place=place_of(self.settings))
        connection.close()

    def roll(self, rollup: Rollup, start: datetime, end: datetime) -> dict[datetime | date, int]:
        """Rebuild a rollup's partitions; rows by partition."""
        return rebuild(rollup, start, end, settings=self.settings)

    def ask(self, sql: str) -> Rows:
        """Rows as dictionaries."""
        connection = connect(settings=self.settings)
        found: Rows = connection.execute(sql).to_arrow_table().to_pylist()
        connection.close()
        return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture(scope="session")
def make_lake(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Lake]:
    return lambda: Lake(tmp_path_factory.mktemp("lake"))
