"""The loader and a Kafka that is away, a topic that is made anew, bytes that nobody can read."""

import signal
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from collectors.contract.kafka import KafkaClient
from collectors.contract.topics import KERNEL_EVENTS, REJECTED
from infra.kafka.local import kill, restart, running_kafka
from infra.topics import ALL_TOPICS, admin_client, create
from tests.integration.loader_process import load_to_the_end, loader, produce, settings, wait_for_commit
from warehouse.opening import connect
from warehouse.rows.topics import LOADED

pytestmark = pytest.mark.kafka

QUICK = ("--commit-seconds", "0.2", "--progress-seconds", "0.2")


def producer_to(bootstrap: str) -> Producer:
    return Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})


def events(state: Path) -> list[int]:
    with connect(settings=settings(state)) as reader:
        return sorted(n for (n,) in reader.execute("select detail::BIGINT from kernel_events").fetchall())


def wait_for_events(state: Path, count: int) -> None:
    deadline = time.monotonic() + 90
    while len(events(state)) < count:
        assert time.monotonic() < deadline, f"{len(events(state))} of {count} events were loaded"
        time.sleep(0.5)


def test_a_broker_that_dies_and_comes_back_costs_nothing_and_sigterm_commits(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running_kafka(tmp_path / "kafka") as broker:
        create(admin_client(KafkaClient(broker.bootstrap)), ALL_TOPICS)
        producer = producer_to(broker.bootstrap)
        for number in range(50):
            produce(producer, number)
        producer.flush()
        with loader(state, broker.bootstrap, *QUICK) as process:
            wait_for_commit(process)
            kill(broker)
            time.sleep(20)
            restart(broker)
            for number in range(50, 100):
                produce(producer, number)
            producer.flush()
            wait_for_events(state, 100)
            for number in range(100, 120):
                produce(producer, number)
            producer.flush()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert process.stderr is not None
            told = process.stderr.read()
        load_to_the_end(state, broker.bootstrap)
    assert "does not answer" in told
    assert told.rstrip().endswith("ended")
    assert "Traceback" not in told
    assert events(state) == list(range(120))


def test_a_poison_message_on_every_topic_is_reported_and_passed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running_kafka(tmp_path / "kafka") as broker:
        create(admin_client(KafkaClient(broker.bootstrap)), ALL_TOPICS)
        producer = producer_to(broker.bootstrap)
        for topic in ALL_TOPICS:
            for raw in (b"", b"\x00\xff", b"{}", b'{"ts_us":1e400}', b"[" * 10_000):
                producer.produce(topic.name, key="poison", value=raw)
        produce(producer, 7)
        producer.flush()
        told = load_to_the_end(state, broker.bootstrap)
        load_to_the_end(state, broker.bootstrap)
    bad = 5 * len(LOADED)
    assert f"{bad} bad" in told
    with connect(settings=settings(state)) as reader:
        by_source = reader.execute(
            "select source, sum(1 + unreported) from rejected where reported_by = 'warehouse' group by source"
        ).fetchall()
    assert dict(by_source) == dict.fromkeys(LOADED, 5)
    assert REJECTED.name in dict(by_source)
    assert events(state) == [7]


def test_a_topic_that_was_made_anew_is_noticed_and_loaded_from_its_start(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running_kafka(tmp_path / "kafka") as broker:
        admin = admin_client(KafkaClient(broker.bootstrap))
        create(admin, ALL_TOPICS)
        producer = producer_to(broker.bootstrap)
        for number in range(5):
            produce(producer, number)
        producer.flush()
        load_to_the_end(state, broker.bootstrap)
        for future in admin.delete_topics([KERNEL_EVENTS.name]).values():
            future.result()
        deadline = time.monotonic() + 30
        while KERNEL_EVENTS.name in admin.list_topics(timeout=10).topics:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        create(admin, ALL_TOPICS)
        for number in range(5, 105):
            produce(producer, number)
        producer.flush()
        told = load_to_the_end(state, broker.bootstrap)
    assert "kernel.events.v1" in told
    assert "made anew" in told
    assert events(state) == list(range(105))
