"""Everything that detectors and the correlator read, from the warehouse, in order of time."""

import heapq
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import duckdb

from collectors.contract.beat import Beat
from collectors.contract.errors import UserError
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.node import NodeState
from collectors.contract.topic import Topic
from collectors.contract.topics import (
    COLLECTOR_BEATS,
    FABRIC_LINKS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    JOB_STEPS,
    KERNEL_EVENTS,
    NCCL_WINDOWS,
    NODE_STATES,
)
from streams.contract import ORDERS, Order
from warehouse.past.fabric import link_messages, port_messages
from warehouse.past.gpus import gpu_messages
from warehouse.past.jobs import job_messages, placed_before, step_messages, window_messages
from warehouse.past.reading import Row, rows
from warehouse.past.spans import spans
from warehouse.rows.node import BEAT, KERNEL, STATE
from warehouse.rows.stream import ORDER

Pair = tuple[Topic[Any], Message]


def messages(connection: duckdb.DuckDBPyConnection, start_us: int, end_us: int) -> Iterator[Pair]:
    """What was loaded from `start_us` up to before `end_us`, after what stood by then (placements, cables, ...)."""
    yield from _standing(connection, start_us)
    for begin, end in spans(connection, start_us, end_us):
        yield from _chunk(connection, begin, end)


def must_have(connection: duckdb.DuckDBPyConnection, start_us: int, end_us: int) -> None:
    """Raises `UserError` where nothing that is never still was loaded of that time; the text says of which it was."""
    (known,) = rows(connection, "loaded", start_us, end_us)
    first_us, last_us = known["first_us"], known["last_us"]
    if first_us is None:
        raise UserError("the warehouse has no scrapes, steps or beats yet: `lockstep load` fills it")
    if end_us <= first_us or last_us < start_us:
        first, last = (
            datetime.fromtimestamp(us / 1e6, UTC).isoformat(timespec="seconds") for us in (first_us, last_us)
        )
        raise UserError(f"the warehouse has nothing of that time: it goes from {first} to {last}")


def _standing(connection: duckdb.DuckDBPyConnection, start_us: int) -> Iterator[Pair]:
    for link in link_messages(rows(connection, "links_before", start_us, start_us)):
        yield FABRIC_LINKS, link
    for state in _plain(NodeState, STATE, rows(connection, "node_states_before", start_us, start_us)):
        yield NODE_STATES, state
    for order in _plain(Order, ORDER, rows(connection, "orders_before", start_us, start_us)):
        yield ORDERS, order
    for placed in placed_before(rows(connection, "placements_before", start_us, start_us)):
        yield JOB_PLACEMENTS, placed


def _chunk(connection: duckdb.DuckDBPyConnection, start_us: int, end_us: int) -> Iterator[Pair]:
    span = (connection, start_us, end_us)
    by_topic = {topic.name: topic for topic in (JOB_EVENTS, JOB_PLACEMENTS)}
    streams: list[Iterator[Pair]] = [
        iter([(by_topic[name], event) for name, event in job_messages(*span)]),
        iter([(FABRIC_LINKS, link) for link in link_messages(rows(connection, "links", start_us, end_us))]),
        iter([(NODE_STATES, m) for m in _plain(NodeState, STATE, rows(connection, "node_states", start_us, end_us))]),
        iter([(ORDERS, m) for m in _plain(Order, ORDER, rows(connection, "orders", start_us, end_us))]),
        iter([(KERNEL_EVENTS, m) for m in _plain(KernelEvent, KERNEL, rows(connection, "kernel_events", *span[1:]))]),
        iter([(GPU_SCRAPES, m) for m in gpu_messages(*span)]),
        iter([(FABRIC_SCRAPES, m) for m in port_messages(*span)]),
        iter([(JOB_STEPS, m) for m in step_messages(*span)]),
        iter([(NCCL_WINDOWS, m) for m in window_messages(*span)]),
        iter([(COLLECTOR_BEATS, m) for m in _plain(Beat, BEAT, rows(connection, "beats", start_us, end_us))]),
    ]
    yield from heapq.merge(*(_sorted(stream) for stream in streams), key=lambda pair: pair[1].ts_us)


def _sorted(stream: Iterator[Pair]) -> list[Pair]:
    return sorted(stream, key=lambda pair: pair[1].ts_us)


def _plain(kind: type[Any], columns: dict[str, str], found: list[Row]) -> Iterator[Any]:
    """A message a row. A NULL where the message has no None was not stored by an older loader: its default holds."""
    for row in found:
        values = {part: row[part if part.endswith("_us") else column] for column, part in columns.items()}
        if "ignored" in values:
            values["ignored"] = dict(values["ignored"] or {})
        yield kind(**{part: value for part, value in values.items() if value is not None})
