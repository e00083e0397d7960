"""100,000 lines of a driver in one minute through Kafka and a worker: one incident, one page, nobody else waits."""

import json
import time
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from msgspec import structs

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, JOB_PLACEMENTS, KERNEL_EVENTS
from streams.contract import FINDINGS, INCIDENTS, Finding
from tests.bench.faust_bench import cpu_s
from tests.integration.stream_line import Line, line, paced, wait_until
from tests.streams.scrapes import SECOND, T0, scrape
from tests.streams.xid_storm import LINES, SPAN_US, START_US, placed, storm, struck_us
from tests.streams.xid_storm import line as xid_line

OTHERS = tuple(f"n{i}" for i in range(2, 14))
"""So many nodes that some share the storm's partition."""
BROKEN = "n5"
LATE_S = 5.0
"""2 s for a finding, and what a page of two scrapes adds: on a machine that also runs the broker and the source."""


def minute(start_us: int) -> list[tuple[Topic[Any], Message]]:
    """A storm on n1; programs on other nodes fault meanwhile, one after another, and one GPU breaks. By time."""
    shift = start_us - T0
    out: list[tuple[Topic[Any], Message]] = [(KERNEL_EVENTS, event) for event in storm(79)]
    for number, node in enumerate(OTHERS):
        at_us = START_US + (number + 1) * SPAN_US // (len(OTHERS) + 1)
        out.append((KERNEL_EVENTS, xid_line(at_us, 79 if node == BROKEN else 13, 0, number, 17, node=node)))
    for second in range(80):
        healthy = {"156": 1e9 + second, "100": 1900.0, "1002": 0.9}
        for node in ("n1", *OTHERS):
            made = scrape(second, healthy, node=node)
            gpus = [structs.replace(g, uuid=f"{node}-{g.uuid}") for g in made.gpus]
            out.append((GPU_SCRAPES, structs.replace(made, gpus=gpus)))
    moved = [(topic, structs.replace(m, ts_us=m.ts_us + shift)) for topic, m in out]
    moved.sort(key=lambda row: row[1].ts_us)
    job = placed()
    ranks = [structs.replace(p, gpu_uuid=f"n1-{p.gpu_uuid}") for p in job.placement or []]
    return [(JOB_PLACEMENTS, structs.replace(job, ts_us=start_us, placement=ranks)), *moved]


def published(live: Line) -> list[tuple[Finding, float]]:
    """Findings and the seconds from their event to their record in Kafka."""
    out: list[tuple[Finding, float]] = []
    consumer = Consumer({"bootstrap.servers": live.broker.bootstrap, "group.id": "delay", "enable.auto.commit": False})
    place = TopicPartition(FINDINGS.name, 0, 0)
    consumer.assign([place])
    _, end = consumer.get_watermark_offsets(place, timeout=10)
    while len(out) < end:
        record = consumer.poll(10)
        assert record is not None and record.error() is None
        finding = FINDINGS.decode(record.value() or b"")
        out.append((finding, record.timestamp()[1] / 1e3 - finding.ts_us / 1e6))
    consumer.close()
    return out


@pytest.mark.kafka
def test_a_storm_of_lines_is_one_incident_and_one_page_and_no_other_node_waits() -> None:
    with line() as live, live.worker() as worker:
        live.ready()
        start_us, before_s = time.time_ns() // 1000 + 2 * SECOND, cpu_s(worker.pid)
        paced(minute(start_us), live.produce)
        wait_until(lambda: {i.subject.node for i in live.read(INCIDENTS)} == {"n1", BROKEN}, live.log)
        wait_until(lambda: {f.subject.node for f in live.read(FINDINGS)} == {"n1", *OTHERS}, live.log)
        incidents = live.read(INCIDENTS)
        here = [i for i in incidents if i.subject.node == "n1"]
        (opened,) = [i for i in here if i.state == "opened"]
        assert (opened.severity, opened.cause_word, opened.jobs) == ("critical", "xid_79", ["train"])
        assert opened.ts_us == struck_us(LINES) + start_us - T0
        assert {i.id for i in here} == {opened.id}
        rows = [json.loads(row) for row in (live.state / "alerts.jsonl").read_text().splitlines()]
        pages = [r["labels"]["incident"] for r in rows if r["page"] and r["state"] == "firing"]
        assert pages == [opened.id]
        delays = [(f.subject.node, seconds) for f, seconds in published(live) if f.state == "opened"]
        assert {node for node, _ in delays} == {"n1", *OTHERS}
        slowest = max(seconds for _, seconds in delays)
        print(f"CPU-seconds of the worker: {cpu_s(worker.pid) - before_s:.1f}")
        print("seconds from line to finding:", sorted((round(seconds, 2), node) for node, seconds in delays))
        assert slowest < LATE_S
        assert worker.poll() is None
        assert "Traceback" not in live.log()
