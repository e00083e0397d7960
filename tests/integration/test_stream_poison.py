"""Bytes that nobody can read, on every topic that the stream reads."""

import time

import pytest

from collectors.contract.topics import (
    COLLECTOR_BEATS,
    FABRIC_LINKS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    JOB_STEPS,
    KERNEL_EVENTS,
    REJECTED,
)
from streams.contract import FINDINGS, INCIDENTS
from tests.integration.stream_line import line, paced, story, wait_until

pytestmark = pytest.mark.kafka

READ = (
    GPU_SCRAPES,
    KERNEL_EVENTS,
    JOB_STEPS,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    FABRIC_SCRAPES,
    FABRIC_LINKS,
    COLLECTOR_BEATS,
    FINDINGS,
    INCIDENTS,
)


def test_poison_on_every_topic_is_rejected_with_its_place_and_stops_nobody() -> None:
    with line() as live, live.worker() as worker:
        live.ready()
        for topic in READ:
            for partition in range(topic.partitions):
                live.produce_raw(topic.name, partition, b"\xff\x00not json")
        wait_until(lambda: {r.source for r in live.read(REJECTED)} >= {t.name for t in READ}, live.log)
        paced(story(time.time_ns() // 1000, nodes=3, seconds=12), live.produce)
        wait_until(lambda: {i.detector for i in live.read(INCIDENTS, bad=True)} >= {"memory", "xid"}, live.log)
        first = next(r for r in live.read(REJECTED) if r.source == GPU_SCRAPES.name)
        assert (first.raw, first.offset, first.by) == (b"\xff\x00not json", 0, "stream")
        assert worker.poll() is None
        assert "Traceback" not in live.log()
