"""The past as messages: what goes into the warehouse comes out of it."""

import duckdb
import pytest
from msgspec import structs

from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topics import JOB_PLACEMENTS, JOB_STEPS, REJECTED
from streams.contract import STREAM_TOPICS
from tests.warehouse.messages import T0, job_placed, one_of_each
from warehouse.loader import write
from warehouse.past.messages import messages
from warehouse.place import Place

LOADED = [(t, m) for t, m in one_of_each() if t not in (*STREAM_TOPICS, REJECTED)]
MANY = 10 * 1_000_000


def as_kept(message: Message) -> Message:
    """Without what the warehouse does not keep."""
    if isinstance(message, GpuScrape):
        return structs.replace(message, errors={})
    if isinstance(message, PortScrape):
        return structs.replace(message, errors={}, forms={})
    return message


@pytest.mark.parametrize(("topic", "message"), LOADED, ids=lambda x: getattr(x, "name", ""))
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
    assert {t.name for t, _ in later} == {"job.placements.v1", "fabric.links.v1", "node.states.v1"}
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
