"""Kafka is stopped for 20 seconds under steady input: everything arrives, once, in order per key."""

import time
from collections import defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from collectors.contract.kafka import KafkaClient
from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import KERNEL_EVENTS, REJECTED
from collectors.outlet_kafka import KafkaOutlet
from collectors.outlet_producer import connect
from collectors.settings import CollectorSettings
from collectors.spool_folder import SpoolFolder
from infra.kafka.local import Broker, restart, running_kafka, stop
from infra.topics import admin_client, create

pytestmark = pytest.mark.kafka

NODES = ("a", "b", "c")
SETTINGS = CollectorSettings(spool_after_s=1.0, linger_ms=20.0)


def outlet_to(broker: Broker, folder: Path) -> KafkaOutlet:
    client = KafkaClient(broker.bootstrap)
    return KafkaOutlet(lambda: connect(client, SETTINGS, "kernel"), SpoolFolder(folder, "kernel"), SETTINGS, "c")


def publish_for(outlet: KafkaOutlet, seconds: float, number: int) -> int:
    """Some 600 messages a second; the next number."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(60):
            node = NODES[number % len(NODES)]
            outlet.publish(KERNEL_EVENTS, KernelEvent(cluster="c", ts_us=number, node=node, kind="xid", code=number))
            number += 1
        outlet.tick()
        time.sleep(0.1)
    return number


def settle(outlet: KafkaOutlet, within_s: float = 60.0) -> None:
    """Tick until nothing waits."""
    end = time.monotonic() + within_s
    while outlet.spooled or any(lane.in_flight for lane in outlet.lanes.values()):
        assert time.monotonic() < end, f"{outlet.spooled} messages still wait"
        outlet.tick()
        time.sleep(0.1)


def arrived(broker: Broker, topic: str) -> dict[str, list[int | None]]:
    """Codes by key, in the order of the log."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "test"})
    out: dict[str, list[int | None]] = defaultdict(list)
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=10)[1] for p in partitions}
    consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
    left = sum(ends.values())
    while left:
        for one in consumer.consume(min(left, 1000), timeout=10):
            assert one.error() is None
            out[(one.key() or b"").decode()].append(KERNEL_EVENTS.decode(one.value() or b"").code)
            left -= 1
    consumer.close()
    return dict(out)


def expected(count: int) -> dict[str, list[int | None]]:
    return {f"c/{node}": list(range(place, count, len(NODES))) for place, node in enumerate(NODES)}


def test_an_outage_of_20_seconds_loses_and_doubles_nothing_and_keeps_the_order(tmp_path: Path) -> None:
    with running_kafka(tmp_path / "kafka") as broker:
        create(admin_client(KafkaClient(broker.bootstrap)), [KERNEL_EVENTS])
        outlet = outlet_to(broker, tmp_path / "spool")
        sent = publish_for(outlet, 2.0, 0)
        stop(broker.folder)
        sent = publish_for(outlet, 20.0, sent)
        assert outlet.spooled > 1000
        restart(broker)
        sent = publish_for(outlet, 3.0, sent)
        settle(outlet)
        outlet.close()
        assert arrived(broker, KERNEL_EVENTS.name) == expected(sent)
        assert outlet.lost == 0
        assert list((tmp_path / "spool").rglob("*.seg")) == []


def test_a_process_that_ends_in_an_outage_leaves_its_messages_for_the_next_one(tmp_path: Path) -> None:
    with running_kafka(tmp_path / "kafka") as broker:
        create(admin_client(KafkaClient(broker.bootstrap)), [KERNEL_EVENTS])
        first = outlet_to(broker, tmp_path / "spool")
        sent = publish_for(first, 1.0, 0)
        settle(first)
        stop(broker.folder)
        sent = publish_for(first, 3.0, sent)
        first.close()
        second = outlet_to(broker, tmp_path / "spool")
        sent = publish_for(second, 0.5, sent)
        restart(broker)
        settle(second)
        second.close()
        assert arrived(broker, KERNEL_EVENTS.name) == expected(sent)


def test_a_missing_topic_holds_up_no_other_and_gets_its_messages_when_it_is_made(tmp_path: Path) -> None:
    with running_kafka(tmp_path / "kafka") as broker:
        admin = admin_client(KafkaClient(broker.bootstrap))
        create(admin, [REJECTED])
        outlet = outlet_to(broker, tmp_path / "spool")
        sent = publish_for(outlet, 2.0, 0)
        outlet.reject("kernel:a", b"\xff", "no text")
        end = time.monotonic() + 30.0
        while not outlet.lanes[REJECTED.name].delivered and time.monotonic() < end:
            outlet.tick()
            time.sleep(0.1)
        assert outlet.lanes[REJECTED.name].delivered == 1
        assert outlet.lanes[KERNEL_EVENTS.name].delivered == 0
        create(admin, [KERNEL_EVENTS])
        settle(outlet, 90.0)
        outlet.close()
        assert arrived(broker, KERNEL_EVENTS.name) == expected(sent)
