"""The loader's loop: read, decode, commit rows with their offsets, tell."""

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import duckdb
import msgspec
from confluent_kafka import KafkaException

from collectors.contract.beat import Rejected
from collectors.contract.errors import UserError
from warehouse.batch import Batch
from warehouse.feed import Arrived
from warehouse.loader import store
from warehouse.offsets import Offsets, Stored
from warehouse.place import Place
from warehouse.progress import Counts
from warehouse.rejects import Rejects
from warehouse.rows.topics import LOADED

MOST_SAMPLES = 2_000_000
"""Commit early at this many: about 100 MB of messages."""
TAKE = 2_000
REFRESH_S = 30.0
RETRY_S, MOST_RETRY_S = 5.0, 60.0
UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError)


class Source(Protocol):
    """Where messages come from: `Feed`, or a list in a test."""

    ids: dict[str, str | None]

    def take(self, most: int, wait_s: float) -> list[Arrived]: ...
    def refresh(self) -> None: ...
    def exhausted(self) -> bool: ...
    def behind(self) -> int: ...


class Reports(Protocol):
    """Where the loader's own words go: `Reporter`."""

    def report(self, reports: list[Rejected]) -> int: ...
    def send(self, topic: str, key: str, value: bytes) -> None: ...


class Stopped(UserError):
    """The loader was asked to end while it could not store."""


@dataclass(slots=True)
class Pending:
    """What was read and is not committed."""

    batch: Batch = field(default_factory=Batch)
    records: dict[str, list[Arrived]] = field(default_factory=dict)
    following: Offsets = field(default_factory=dict)
    first_s: float | None = None


@dataclass(slots=True, kw_only=True)
class Loading:
    """One run. IO comes in: `open_lake` gives a writer's session, `tell` takes a line."""

    place: Place
    open_lake: Callable[[], duckdb.DuckDBPyConnection]
    connection: duckdb.DuckDBPyConnection
    feed: Source
    reporter: Reports
    rejects: Rejects
    committed: Offsets
    tell: Callable[[str], None]
    stop: threading.Event
    commit_s: float = 5.0
    retry_s: float = RETRY_S
    until_end: bool = False
    """Load to the end of the topics and return."""
    each_turn: Callable[["Loading"], None] = lambda _: None
    counts: Counts = field(default_factory=Counts)
    pending: Pending = field(default_factory=Pending)
    newest_us: int = 0
    """The latest event time that was committed."""
    _refreshed_s: float = 0.0

    def run(self) -> None:
        """Until `stop`, or the end. Commits what it has before it returns. Raises `AnotherLoader`, `Stopped`."""
        self._refreshed_s = time.monotonic()
        while not self.stop.is_set():
            self.arrive(self.feed.take(TAKE, 0.2))
            if self.due():
                self.commit()
            if self.until_end and self.feed.exhausted():
                break
            self._look_for_partitions()
            self.each_turn(self)
        self.commit()

    def arrive(self, records: list[Arrived]) -> None:
        """Decode and keep; what cannot be decoded is set aside and its offset still counts as read."""
        pending = self.pending
        if records and pending.first_s is None:
            pending.first_s = time.monotonic()
        for record in records:
            topic, partition, offset, raw = record
            pending.following[topic, partition] = Stored(offset + 1, self.feed.ids.get(topic))
            if raw is None:
                continue
            try:
                message = LOADED[topic].decode(raw)
            except UNDECODABLE as why:
                self.rejects.add(topic, partition, offset, raw, str(why), _now_us())
                continue
            pending.batch.add(topic, message)
            pending.records.setdefault(topic, []).append(record)

    def due(self) -> bool:
        """Whether it is time to commit."""
        pending = self.pending
        if pending.first_s is None:
            return False
        return time.monotonic() - pending.first_s >= self.commit_s or pending.batch.samples >= MOST_SAMPLES

    def commit(self) -> None:
        """Store what is pending, whatever it takes; nothing is read meanwhile, so nothing is lost."""
        pending = self.pending
        if not pending.following:
            return
        tables, bad = pending.batch.rows()
        for one in bad:
            record = pending.records[one.topic][one.index]
            self.rejects.add(one.topic, record.partition, record.offset, record.value or b"", one.why, _now_us())
        self._report()
        following = {**self.committed, **pending.following}
        began = time.monotonic()
        for attempt in itertools.count():
            try:
                store(self.connection, tables, self.committed, following, _now_us(), self.place)
                break
            except (duckdb.Error, OSError) as why:
                self._wait(why, min(self.retry_s * 2**attempt, MOST_RETRY_S))
        self.committed = following
        self.counts.messages += pending.batch.count
        self.counts.samples += pending.batch.samples
        self.counts.bad = self.rejects.total
        self.counts.commits += 1
        self.counts.commit_s = time.monotonic() - began
        for messages in pending.batch.messages.values():
            self.newest_us = max(self.newest_us, messages[-1].ts_us)
        self.pending = Pending()

    def _report(self) -> None:
        late = self.reporter.report(self.rejects.take())
        if late:
            self.tell(f"{late} reports of bad bytes have not reached Kafka yet")

    def _wait(self, why: duckdb.Error | OSError, retry_s: float) -> None:
        text = str(why).strip().partition("\n")[0]
        held = self.pending.batch.count
        if self.stop.wait(0 if self.until_end else retry_s) or self.until_end:
            raise Stopped(
                f"cannot store: {text}; {held} messages stay in Kafka and are loaded at the next start"
            ) from why
        self.tell(f"cannot store: {text}; {held} messages wait, nothing is lost; trying again")
        try:
            fresh = self.open_lake()
        except UserError as still:
            self.tell(str(still))
            return
        self.connection.close()
        self.connection = fresh

    def _look_for_partitions(self) -> None:
        if self.until_end or time.monotonic() - self._refreshed_s < REFRESH_S:
            return
        self._refreshed_s = time.monotonic()
        try:
            self.feed.refresh()
        except KafkaException:
            return


def _now_us() -> int:
    return time.time_ns() // 1000
