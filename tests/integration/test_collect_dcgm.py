"""`lockstep collect dcgm` as a process: page to topic, SIGTERM, kill -9 in an outage, own /metrics."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from collectors.contract.gpu import GpuScrape
from collectors.contract.kafka import KafkaClient
from collectors.contract.topic import Topic
from collectors.contract.topics import COLLECTOR_BEATS, GPU_SCRAPES, REJECTED
from infra.kafka.local import Broker, restart, running_kafka, stop
from infra.topics import admin_client, create

pytestmark = pytest.mark.kafka


class Page(BaseHTTPRequestHandler):
    """Numbers its answers in the energy counter; `/bad` is no page."""

    protocol_version = "HTTP/1.1"
    served = 0

    def do_GET(self) -> None:
        Page.served += 1
        name = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
        body = f'{name}{{gpu="0",UUID="GPU-0",Hostname="node-a"}} {Page.served}\n'.encode()
        if self.path == "/bad":
            body = b"<html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def exporter() -> Iterator[str]:
    """Its address."""
    Page.served = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def collector(broker: Broker, state: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """The process, ended with -9 if it still runs at the end of the block."""
    env = {**os.environ, "LOCKSTEP_KAFKA": broker.bootstrap, "LOCKSTEP_STATE": str(state), "LOCKSTEP_SPOOL_AFTER": "1"}
    command = [sys.executable, "-m", "infra.command.main", "collect", *words]
    with (state / "log").open("a") as log:
        process = subprocess.Popen(command, env=env, stderr=log, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def messages(broker: Broker, topic: Topic[Any]) -> list[Any]:
    """Everything in a topic; keys are few, so the order is that of their partition."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "test"})
    partitions = consumer.list_topics(topic.name, timeout=10).topics[topic.name].partitions
    left = sum(consumer.get_watermark_offsets(TopicPartition(topic.name, p), timeout=10)[1] for p in partitions)
    consumer.assign([TopicPartition(topic.name, p, 0) for p in partitions])
    out: list[Any] = []
    while len(out) < left:
        out += [topic.decode(one.value() or b"") for one in consumer.consume(left - len(out), timeout=10)]
    consumer.close()
    return out


def numbers(scrapes: list[GpuScrape]) -> list[int]:
    return [int(value) for scrape in scrapes if (value := scrape.columns["156"][0]) is not None]


def wait_for(so: Callable[[], bool], within_s: float = 60.0) -> None:
    end = time.monotonic() + within_s
    while not so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_pages_reach_kafka_and_a_terminated_collector_leaves_nothing_behind(tmp_path: Path) -> None:
    with running_kafka(tmp_path / "kafka") as broker, exporter() as address:
        create(admin_client(KafkaClient(broker.bootstrap)), [GPU_SCRAPES, COLLECTOR_BEATS, REJECTED])
        words = ("dcgm", "--target", address, "--target", f"http://{address}/bad", "--interval", "0.2")
        with collector(broker, tmp_path, *words, "--metrics-listen", "0") as process:
            wait_for(lambda: Page.served >= 20)
            text = (tmp_path / "log").read_text()
            url = next(word for word in text.split() if word.endswith("/metrics"))
            with urllib.request.urlopen(url, timeout=10) as answer:
                metrics = answer.read().decode()
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        found = numbers(messages(broker, GPU_SCRAPES))
        assert len(found) >= 8
        assert found == sorted(set(found))
        beats = messages(broker, COLLECTOR_BEATS)
        assert {(beat.ok, beat.subject, beat.samples, beat.lost) for beat in beats} == {
            (True, "node-a", 1, 0),
            (False, None, 0, 0),
        }
        assert {beat.collector.partition("@")[0] for beat in beats} == {"dcgm"}
        rejected = messages(broker, REJECTED)
        assert rejected[0].raw == b"<html>"
        assert 1 + sum(1 + bad.unreported for bad in rejected[1:]) == sum(not beat.ok for beat in beats)
        assert 'lockstep_collect_sweeps_total{result="ok",source="dcgm"}' in metrics
        assert 'lockstep_collect_lost_total{topic="gpu.scrapes.v1"} 0.0' in metrics


def test_a_collector_killed_in_an_outage_loses_at_most_the_last_second(tmp_path: Path) -> None:
    with running_kafka(tmp_path / "kafka") as broker, exporter() as address:
        create(admin_client(KafkaClient(broker.bootstrap)), [GPU_SCRAPES, COLLECTOR_BEATS])
        words = ("dcgm", "--target", address, "--interval", "0.1", "--metrics-listen", "off")
        with collector(broker, tmp_path, *words) as process:
            wait_for(lambda: Page.served >= 10)
            stop(broker.folder)
            before = Page.served
            wait_for(lambda: Page.served >= before + 40)
            process.kill()
            process.wait()
        last = Page.served
        restart(broker)
        with collector(broker, tmp_path, *words) as process:
            wait_for(lambda: not list((tmp_path / "spool").rglob("*.seg")) and Page.served >= last + 10)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        found = numbers(messages(broker, GPU_SCRAPES))
        # The page read as the process died may not have been written.
        assert set(range(1, last)) <= set(found)
