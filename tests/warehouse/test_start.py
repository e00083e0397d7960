"""Where reading begins."""

import pytest

from warehouse.offsets import Stored
from warehouse.start import Start, start_of

AT = ("gpu.scrapes.v1", 3)


def test_a_partition_never_loaded_begins_at_the_first_offset_that_kafka_has() -> None:
    assert start_of(AT, None, "id", 40, 90) == Start(40)


@pytest.mark.parametrize("offset", [40, 57, 90])
def test_a_partition_goes_on_where_the_warehouse_stands(offset: int) -> None:
    assert start_of(AT, Stored(offset, "id"), "id", 40, 90) == Start(offset)


def test_offsets_that_left_kafka_are_told_with_their_number() -> None:
    start = start_of(AT, Stored(10, "id"), "id", 40, 90)
    assert (start.offset, start.told) == (
        40,
        "gpu.scrapes.v1[3]: 30 offsets from 10 on left Kafka before they were loaded "
        "(retention or compaction); going on at 40",
    )


def test_a_topic_that_ends_before_the_stored_offset_is_loaded_from_its_start() -> None:
    start = start_of(AT, Stored(100, None), None, 0, 90)
    assert start.offset == 0
    assert start.told is not None
    assert "loaded up to 100, but Kafka ends at 90" in start.told


def test_a_topic_made_anew_is_known_by_its_id_whatever_its_offsets() -> None:
    start = start_of(AT, Stored(50, "old"), "new", 0, 90)
    assert start.offset == 0
    assert start.told is not None
    assert "made anew" in start.told


def test_a_broker_that_tells_no_ids_is_taken_at_its_offsets() -> None:
    assert start_of(AT, Stored(50, "old"), None, 0, 90) == Start(50)
