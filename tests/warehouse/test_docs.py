"""The warehouse's page."""

import re
from pathlib import Path

import duckdb

from tests.warehouse.messages import one_of_each
from warehouse import schema
from warehouse.loader import write
from warehouse.place import Place

PAGE = (Path(__file__).parents[2] / "docs" / "warehouse.md").read_text()


def test_every_question_of_the_page_can_be_asked(lake: duckdb.DuckDBPyConnection, place: Place) -> None:
    write(lake, [(topic, [message]) for topic, message in one_of_each()], place=place)
    asked = 0
    for block in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL):
        for statement in lake.extract_statements(block):
            lake.execute(statement).fetchall()
            asked += 1
    assert asked == 8


def test_the_page_names_every_table_and_view() -> None:
    assert [name for name in (*schema.tables(), *schema.views()) if name not in PAGE] == [
        "warehouse_schema",
        "port_details",
    ]
