"""Messages into the warehouse: with their offsets from Kafka, or by hand without it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb

from collectors.contract.errors import UserError
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from warehouse.batch import Batch
from warehouse.insert import insert
from warehouse.offsets import Partition, Stored, move_offsets
from warehouse.place import Place
from warehouse.rows.arrow import Tables
from warehouse.transaction import transact

CHUNK_SAMPLES = 4_000_000
"""What `write` holds in memory before it commits: about 200 MB of messages."""


class UnfitMessage(UserError):
    """A message handed to `write` that does not fit the tables."""


def write(
    connection: duckdb.DuckDBPyConnection,
    batches: Iterable[tuple[Topic[Any], Sequence[Message]]],
    *,
    place: Place | None = None,
) -> int:
    """Insert messages without Kafka, and return how many. `connection` comes from `connect(read_only=False)`.

    Commits every few million samples, each time whole or not at all. Raises `UnfitMessage` before anything
    of that part is written. Offsets stay as they are.
    """
    total, batch = 0, Batch()
    for topic, messages in batches:
        for message in messages:
            batch.add(topic.name, message)
            if batch.samples >= CHUNK_SAMPLES:
                total += _write(connection, batch, place)
                batch = Batch()
    return total + _write(connection, batch, place)


def _write(connection: duckdb.DuckDBPyConnection, batch: Batch, place: Place | None) -> int:
    tables, bad = batch.rows()
    if bad:
        raise UnfitMessage(f"{bad[0].topic}: {bad[0].why}")
    if tables:
        transact(connection, lambda inside: insert(inside, tables), place=place)
    return batch.count


def store(
    connection: duckdb.DuckDBPyConnection,
    tables: Tables,
    expected: Mapping[Partition, Stored],
    following: Mapping[Partition, Stored],
    now_us: int,
    place: Place,
) -> None:
    """Rows and next offsets in one transaction. Raises `AnotherLoader`, or DuckDB's error with nothing written."""

    def work(inside: duckdb.DuckDBPyConnection) -> None:
        if move_offsets(inside, expected, following, now_us):
            insert(inside, tables)

    transact(connection, work, place=place)
