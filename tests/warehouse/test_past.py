"""The past as messages: what goes into the warehouse comes out of it."""

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from msgspec import NODEFAULT, Struct, structs

from collectors.contract.errors import UserError
from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topics import FABRIC_SCRAPES, JOB_PLACEMENTS, JOB_STEPS, REJECTED
from streams.contract import ORDERS, STREAM_TOPICS, Order
from tests.warehouse.full_messages import bare, full
from tests.warehouse.messages import T0, job_placed, one_of_each, port_scrape
from warehouse.loader import write
from warehouse.past.messages import messages
from warehouse.past.spans import spans
from warehouse.place import Place

LOADED = [(t, m) for t, m in one_of_each() if t is ORDERS or t not in (*STREAM_TOPICS, REJECTED)]
MANY = 10 * 1_000_000


WHOLE = [*LOADED, *full(), *bare()]
UNSET = {("GpuScrape", "part"), ("PortScrape", "port_epochs")}
"""Pieces make no rows; a port's own epoch comes out as its whole one."""


def as_kept(message: Message) -> Message:
    """Without what stands apart, in `scrape_errors`."""
    return structs.replace(message, errors={}) if isinstance(message, GpuScrape | PortScrape) else message


def fields_of(thing: Any) -> Iterator[tuple[str, str, bool]]:
    """Type, name and whether it is not the default, of each field of a message and its parts."""
    for info in structs.fields(thing):
        value = getattr(thing, info.name)
        default = info.default if info.default_factory is NODEFAULT else info.default_factory()
        yield type(thing).__name__, info.name, value != default
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]:
            if isinstance(part, Struct):
                yield from fields_of(part)


@pytest.mark.parametrize(("topic", "message"), full(), ids=lambda x: getattr(x, "name", ""))
def test_the_full_messages_set_every_field_so_that_a_new_one_cannot_be_forgotten(
    topic: object, message: Message
) -> None:
    every = {(of, name) for of, name, _ in fields_of(message)}
    assert every - {(of, name) for of, name, is_set in fields_of(message) if is_set} <= UNSET


@pytest.mark.parametrize(("topic", "message"), WHOLE, ids=lambda x: getattr(x, "name", ""))
def test_a_message_comes_out_as_it_went_in(
    lake: duckdb.DuckDBPyConnection, place: Place, topic: object, message: Message
) -> None:
    write(lake, [(topic, [message])], place=place)  # type: ignore[list-item]
    found = [(t, m) for t, m in messages(lake, T0 - MANY, T0 + MANY) if t is topic]
    assert found == [(topic, as_kept(message))]


def test_all_come_in_order_of_time(lake: duckdb.DuckDBPyConnection, place: Place) -> None:
    write(lake, [(topic, [message]) for topic, message in one_of_each()], place=place)
    found = list(messages(lake, T0 - MANY, T0 + MANY))
    assert {t.name for t, _ in found} == {t.name for t, _ in LOADED}
    assert [m.ts_us for _, m in found] == sorted(m.ts_us for _, m in found)


def test_nothing_from_outside_the_span_but_what_stood_when_it_began(
    lake: duckdb.DuckDBPyConnection, place: Place
) -> None:
    write(lake, [(topic, [message]) for topic, message in one_of_each()], place=place)
    later = list(messages(lake, T0 + MANY, T0 + 2 * MANY))
    assert {t.name for t, _ in later} == {
        "job.placements.v1",
        "fabric.links.v1",
        "node.states.v1",
        "incident.orders.v1",
    }
    assert [m for t, m in later if t is JOB_PLACEMENTS] == [job_placed()]
    assert list(messages(lake, T0 - 2 * MANY, T0 - MANY)) == []


def test_what_was_loaded_twice_comes_out_once_where_it_would_count(
    lake: duckdb.DuckDBPyConnection, place: Place
) -> None:
    for _ in range(2):
        write(lake, [(topic, [message]) for topic, message in LOADED], place=place)
    twice = {type(m).__name__ for _, m in messages(lake, T0 - MANY, T0 + MANY)}
    rows = [m for _, m in messages(lake, T0 - MANY, T0 + MANY) if isinstance(m, GpuScrape | PortScrape)]
    assert len(rows) == 2
    assert "StepReport" in twice


def test_reports_of_two_configurations_at_one_time_come_out_apart(
    lake: duckdb.DuckDBPyConnection, place: Place
) -> None:
    first = next(m for t, m in LOADED if t is JOB_STEPS)
    other = structs.replace(first, config_hash="a0", step=[4, 4])
    write(lake, [(JOB_STEPS, [first, other])], place=place)
    assert [m for t, m in messages(lake, T0 - MANY, T0 + MANY) if t is JOB_STEPS] == [first, other]


def test_a_ports_own_restarts_are_told_alike_whatever_its_neighbours_do(
    lake: duckdb.DuckDBPyConnection, place: Place
) -> None:
    own = [["a", ""], ["a", "b"], ["b", "b"], []]
    sent = [port_scrape(T0 + at, port_epochs=epochs) for at, epochs in enumerate(own)]
    write(lake, [(FABRIC_SCRAPES, sent)], place=place)
    found = [m for _, m in messages(lake, T0, T0 + MANY) if isinstance(m, PortScrape)]
    assert [[m.epoch_of(row) for row in (0, 1)] for m in found] == [
        ["boot-1/a", "boot-1"],
        ["boot-1/a", "boot-1/b"],
        ["boot-1/b", "boot-1/b"],
        ["boot-1", "boot-1"],
    ]


def test_rows_from_before_forms_were_kept_are_read_as_plain_counters(
    lake: duckdb.DuckDBPyConnection, place: Place
) -> None:
    write(lake, [(FABRIC_SCRAPES, [m for t, m in full() if t is FABRIC_SCRAPES])], place=place)
    lake.execute("alter table port_scrapes drop column forms")
    with pytest.raises(UserError, match=r"lacks what port_scrapes is read from.*lockstep load --once"):
        list(messages(lake, T0, T0 + MANY))
    lake.execute("alter table port_scrapes add column forms VARCHAR")
    assert [m.forms for _, m in messages(lake, T0, T0 + MANY) if isinstance(m, PortScrape)] == [{}]


def test_only_stretches_with_rows_are_read_and_each_row_once(lake: duckdb.DuckDBPyConnection, place: Place) -> None:
    minute, day = 60_000_000, 86_400_000_000
    first = T0 // day * day
    at = [first + m * minute + 5 for m in (0, 1, 2, 700, 1400)]
    write(lake, [(FABRIC_SCRAPES, [port_scrape(ts_us, named={}) for ts_us in at])], place=place)
    in_one = 2 + 2 + 2  # rows a message: port_scrapes, port_classes, port_fields
    assert list(spans(lake, first, first + day, most=2 * in_one)) == [
        (first, first + 2 * minute),
        (first + 2 * minute, first + 701 * minute),
        (first + 1400 * minute, first + 1401 * minute),
    ]
    assert list(spans(lake, first, first + day)) == [(first, first + 1401 * minute)]
    assert list(spans(lake, at[1], at[1] + 1, most=1)) == [(at[1], at[1] + 1)]
    assert list(spans(lake, at[1], at[2], most=1)) == [(at[1], first + 2 * minute)]
    assert list(spans(lake, first - day, first)) == []


def test_orders_that_still_hold_when_the_span_begins_are_told_with_their_last_word(
    lake: duckdb.DuckDBPyConnection, place: Place
) -> None:
    until = T0 + 3 * MANY
    work = Order(
        id="o-1", ts_us=T0, kind="maintenance", parts=["node:n1"], from_us=T0, until_us=until, by="mika", why="DIMMs"
    )
    over = Order(id="o-2", ts_us=T0, kind="mute", cause="xid_79", until_us=T0 + 5, by="mika")
    ended = [
        Order(id="o-3", ts_us=T0 + 1, kind="mute", by="mika"),
        Order(id="o-3", ts_us=T0 + 2, kind="unmute", by="mika"),
    ]
    write(lake, [(ORDERS, [work, over, *ended])], place=place)
    assert [m for _, m in messages(lake, T0 + MANY, T0 + 2 * MANY)] == [work, ended[1]]
    assert [m for _, m in messages(lake, T0, T0 + MANY)] == [work, over, *ended]
