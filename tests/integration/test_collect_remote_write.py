"""A real Prometheus pushes: through an outage of Kafka, and a receiver that is killed."""

import signal
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from collectors.contract.kafka import KafkaClient
from collectors.contract.topics import COLLECTOR_BEATS, GPU_SCRAPES, REJECTED
from infra.kafka.local import Broker, restart, running_kafka, stop
from infra.kafka.process import free_port
from infra.topics import admin_client, create
from tests.integration.prometheus_process import NEEDS_PROMETHEUS, prometheus
from tests.integration.test_collect_dcgm import Page, collector, exporter, messages, numbers, wait_for

pytestmark = [pytest.mark.kafka, NEEDS_PROMETHEUS]


def arrived(broker: Broker) -> list[int]:
    """The numbers in Kafka; none while it is only coming up."""
    try:
        return numbers(messages(broker, GPU_SCRAPES))
    except KafkaException:
        return []


def test_what_prometheus_scraped_reaches_kafka_once_and_in_order_whatever_is_away_meanwhile(tmp_path: Path) -> None:
    port = free_port()
    words = ("remote-write", "--listen", f"127.0.0.1:{port}", "--interval", "1", "--metrics-listen", "off")
    queue = {"batch_send_deadline": "1s", "max_backoff": "1s"}
    pushed = {"url": f"http://127.0.0.1:{port}/api/v1/write", "queue_config": queue}
    with running_kafka(tmp_path / "kafka") as broker, exporter() as address:
        create(admin_client(KafkaClient(broker.bootstrap)), [GPU_SCRAPES, COLLECTOR_BEATS, REJECTED])
        with prometheus(tmp_path / "prometheus", [address], remote_write=[pushed]):
            with collector(broker, tmp_path, *words) as process:
                wait_for(lambda: len(arrived(broker)) >= 10)
                stop(broker.folder)
                before = Page.served
                wait_for(lambda: Page.served >= before + 12)
                restart(broker)
                wait_for(lambda: max(arrived(broker), default=0) >= before + 14)
                process.kill()
                process.wait()
            before = Page.served
            wait_for(lambda: Page.served >= before + 5)
            with collector(broker, tmp_path, *words) as process:
                enough = before + 10
                wait_for(lambda: Page.served > enough and max(arrived(broker), default=0) >= enough)
                process.send_signal(signal.SIGTERM)
                assert process.wait(20) == 0
        scrapes = messages(broker, GPU_SCRAPES)
        beats = messages(broker, COLLECTOR_BEATS)
        assert messages(broker, REJECTED) == []
    found = numbers(scrapes)
    assert set(found) == set(range(min(found), max(found) + 1))
    whole = numbers([scrape for scrape in scrapes if not scrape.part])
    assert whole == sorted(set(whole))
    assert {scrape.node for scrape in scrapes} == {"node-a"}
    assert any(not beat.ok and "Kafka has not taken it" in (beat.error or "") for beat in beats)
    assert not list((tmp_path / "spool").rglob("gpu.scrapes.v1/*.seg"))
