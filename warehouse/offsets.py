"""Where the loader stands in Kafka: kept in the warehouse, written with the rows."""

from collections.abc import Mapping
from pathlib import Path

import duckdb
from msgspec import Struct

from collectors.contract.errors import UserError
from warehouse.insert import insert
from warehouse.rows.arrow import from_rows

SQL = Path(__file__).parent / "sql" / "offsets"
NAMES = ("topic", "partition", "topic_id", "next_offset", "loaded_at")

Partition = tuple[str, int]


class Stored(Struct, frozen=True):
    """The next offset of a partition, and Kafka's own id of the topic (None: the broker does not tell)."""

    next_offset: int
    topic_id: str | None = None


Offsets = dict[Partition, Stored]


class AnotherLoader(UserError):
    """Somebody else moved the offsets that this process had read: two loaders on one warehouse."""


def read_offsets(connection: duckdb.DuckDBPyConnection) -> Offsets:
    """All stored offsets."""
    rows = connection.execute((SQL / "read.sql").read_text()).fetchall()
    return {(topic, partition): Stored(offset, topic_id) for topic, partition, topic_id, offset in rows}


def move_offsets(
    connection: duckdb.DuckDBPyConnection,
    expected: Mapping[Partition, Stored],
    following: Mapping[Partition, Stored],
    now_us: int,
) -> bool:
    """Inside the transaction that writes the rows: from `expected` to `following`.

    False: they stand at `following` already, so an attempt that seemed to fail did commit, rows and all.
    Raises `AnotherLoader` when they are neither.
    """
    stored = read_offsets(connection)
    changed = {at for at, there in following.items() if expected.get(at) != there}
    if changed and all(stored.get(at) == following[at] for at in changed):
        return False
    for at in changed:
        if stored.get(at) != expected.get(at):
            raise AnotherLoader(_told(at, stored.get(at), expected.get(at)))
    whole = {**stored, **following}
    connection.execute((SQL / "clear.sql").read_text())
    rows = [
        (topic, partition, there.topic_id, there.next_offset, now_us)
        for (topic, partition), there in sorted(whole.items())
    ]
    insert(connection, from_rows("loader_offsets", NAMES, rows))
    return True


def _told(at: Partition, stored: Stored | None, expected: Stored | None) -> str:
    def word(there: Stored | None) -> str:
        return "nothing" if there is None else f"offset {there.next_offset}"

    return (
        f"another loader is at work on this warehouse: {at[0]}[{at[1]}] stands at {word(stored)}, "
        f"this process left it at {word(expected)}; stop one of the two"
    )
