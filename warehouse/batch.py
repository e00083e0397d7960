"""Messages on their way into the warehouse, until their transaction commits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from collectors.contract.message import Message
from warehouse.rows.arrow import BAD_ROWS, Tables
from warehouse.rows.topics import rows_of, samples_of


@dataclass(frozen=True, slots=True)
class Bad:
    """A message without rows, and why."""

    topic: str
    index: int
    """Its place among the batch's messages of that topic."""
    why: str


@dataclass(slots=True)
class Batch:
    """Decoded messages by topic."""

    messages: dict[str, list[Message]] = field(default_factory=dict)
    count: int = 0
    samples: int = 0

    def add(self, topic: str, message: Message) -> None:
        """Keep one more."""
        self.messages.setdefault(topic, []).append(message)
        self.count += 1
        self.samples += samples_of(message)

    def rows(self) -> tuple[Tables, list[Bad]]:
        """Rows by table of all messages that have some, and the messages that have none."""
        made: dict[str, list[pa.Table]] = {}
        bad: list[Bad] = []
        for topic, messages in self.messages.items():
            for tables in _split(topic, messages, 0, bad):
                for name, table in tables.items():
                    made.setdefault(name, []).append(table)
        return {name: _one(tables) for name, tables in made.items()}, bad


def _split(topic: str, messages: Sequence[Message], start: int, bad: list[Bad]) -> Iterable[Tables]:
    """One unfit message costs halvings, not the batch."""
    try:
        return [rows_of(topic, messages)]
    except BAD_ROWS as why:
        if len(messages) == 1:
            bad.append(Bad(topic, start, f"does not fit the tables: {why}"))
            return []
    half = len(messages) // 2
    return [
        *_split(topic, messages[:half], start, bad),
        *_split(topic, messages[half:], start + half, bad),
    ]


def _one(tables: list[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")
