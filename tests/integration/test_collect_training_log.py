"""`lockstep collect training-log` as a process: a log that grows, and kill -9 in the middle of it."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from collectors.contract.job import JobEvent, StepReport
from collectors.contract.kafka import KafkaClient
from collectors.contract.topics import COLLECTOR_TOPICS, JOB_EVENTS, JOB_STEPS
from infra.kafka.local import Broker
from infra.topics import admin_client, create
from tests.integration.test_collect_dcgm import collector, messages

pytestmark = pytest.mark.kafka

STEP = " iteration {0:8d}/     100 | elapsed time per iteration (ms): 1000.0 | global batch size:     8 |\n"
JOB = "log-killed"


def steps(broker: Broker) -> list[tuple[int, int]]:
    try:
        found: list[StepReport] = [one for one in messages(broker, JOB_STEPS) if one.job == JOB]
    except KafkaException:  # a topic that was made just now has no leader yet
        return []
    return [(report.attempt, step) for report in found for step in report.step]


def until(true: Callable[[], bool], what: str) -> None:
    end_s = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end_s, what
        time.sleep(0.3)


def test_a_killed_collector_loses_no_step_and_goes_on_in_the_same_attempt(kafka: Broker, tmp_path: Path) -> None:
    create(admin_client(KafkaClient(kafka.bootstrap)), COLLECTOR_TOPICS)
    file = tmp_path / "train.log"
    words = ("training-log", "--file", str(file), "--job", JOB, "--node", "n1", "--metrics-listen", "off")
    file.write_text("".join(STEP.format(n) for n in range(1, 11)))
    with collector(kafka, tmp_path, *words):
        until(lambda: (0, 10) in steps(kafka), "the first ten steps")
        until(lambda: any((tmp_path / "cursors").glob("training-log-*.json")), "a cursor")
    with file.open("a") as log:
        log.write("".join(STEP.format(n) for n in range(11, 16)))
    with collector(kafka, tmp_path, *words):
        until(lambda: (0, 15) in steps(kafka), "what was written while nobody read")
        with file.open("a") as log:
            log.write("".join(STEP.format(n) for n in range(13, 15)))
        until(lambda: (1, 14) in steps(kafka), "another attempt")
    found = steps(kafka)
    assert {step for attempt, step in found if attempt == 0} == set(range(1, 16))
    assert {step for attempt, step in found if attempt == 1} == {13, 14}
    told: list[JobEvent] = [one for one in messages(kafka, JOB_EVENTS) if one.job == JOB]
    assert {(event.kind, event.attempt) for event in told} == {("started", 0), ("restarted", 1)}
