"""Faust Tables of raw bytes that can be written at any time, with an awaited acknowledgement.

Faust ties a Table write to the event that is being processed; ticks have none. So each key is written to
the partition that the caller names, which is the partition of the messages that the key came from.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import faust


class KeptTable:
    """Keys and values are bytes with our own codec: a value that Faust could not rebuild would hang recovery."""

    def __init__(self, app: faust.App, name: str, partitions: int) -> None:
        self.partitions = partitions
        self._table: Any = app.Table(
            name,
            partitions=partitions,
            key_type=bytes,
            value_type=bytes,
            help="rows of bytes",
        )
        self._partition_of: dict[bytes, int] = {}
        self._owned: dict[bytes, bytes] = {}

    def rows(self, partition: int) -> dict[str, bytes]:
        """The rows of one partition, as recovered and written since."""
        prefix = f"{partition}|".encode()
        return {
            key[len(prefix) :].decode(): value
            for key, value in self._table.data.data.items()
            if key.startswith(prefix) and value is not None
        }

    async def write(self, partition: int, rows: Mapping[str, bytes | None]) -> None:
        """Write rows (None deletes) and wait until the changelog has them."""
        waiting = [self._send(partition, key, value) for key, value in rows.items()]
        for future in waiting:
            await future

    def _send(self, partition: int, key: str, value: bytes | None) -> Any:
        name = f"{partition}|{key}".encode()
        future = self._table.send_changelog(partition, name, value, key_serializer="raw", value_serializer="raw")
        store = self._table.data
        if value is None:
            store.data.pop(name, None)
            store._key_partition.pop(name, None)
        else:
            store.data[name] = value
            store._key_partition[name] = partition
        return future


def changed(before: Mapping[str, bytes | None], now: Iterable[tuple[str, bytes | None]]) -> dict[str, bytes | None]:
    """Rows whose bytes differ from those written last."""
    return {key: value for key, value in now if before.get(key) != value}
