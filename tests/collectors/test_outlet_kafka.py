"""The outlet to Kafka, with a client by hand in Kafka's place."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError

from collectors.contract.beat import Beat, Rejected
from collectors.contract.gpu import GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import COLLECTOR_BEATS, GPU_SCRAPES, KERNEL_EVENTS, REJECTED
from collectors.metrics import MetricsServer, OutletMetrics, listen
from collectors.outlet_kafka import KafkaOutlet
from collectors.reasons import MOST, OTHER, Reasons
from collectors.settings import CollectorSettings
from collectors.source import SourceError
from collectors.spool_folder import SpoolFolder
from collectors.sweeps import Sweeps


class Client:
    """Stands for confluent_kafka's Producer: answers each message at the next poll with `error`."""

    def __init__(self, error: KafkaError | None = None) -> None:
        self.error = error
        self.waiting: list[tuple[str, bytes, Callable[[KafkaError | None, Any], None]]] = []
        self.arrived: list[tuple[str, bytes]] = []

    def produce(self, topic: str, *, value: bytes, key: bytes, on_delivery: Callable[..., None]) -> None:
        del key
        self.waiting.append((topic, value, on_delivery))

    def poll(self, timeout: float) -> int:
        del timeout
        answered, self.waiting = self.waiting, []
        for topic, value, report in answered:
            if self.error is None:
                self.arrived.append((topic, value))
            report(self.error, None)
        return len(answered)

    def purge(self) -> None:
        self.error = KafkaError(KafkaError._PURGE_QUEUE)

    def flush(self, timeout: float) -> int:
        return self.poll(timeout)

    def of(self, topic: str) -> list[Any]:
        return [msgspec.json.decode(value) for name, value in self.arrived if name == topic]


class Bench:
    """An outlet whose clock and clients are in the test's hands."""

    def __init__(self, folder: Path, *clients: Client, **settings: Any) -> None:
        self.now_s = 0.0
        self.clients = list(clients)
        made = iter(clients)
        self.outlet = KafkaOutlet(
            lambda: next(made),  # type: ignore[arg-type, return-value]
            SpoolFolder(folder, "x"),
            CollectorSettings(**settings),
            "c",
            lambda: self.now_s,
        )

    def ticks(self, count: int, step_s: float = 1.0) -> None:
        for _ in range(count):
            self.now_s += step_s
            self.outlet.tick()


def event(code: int) -> KernelEvent:
    return KernelEvent(ts_us=1, node="n", kind="xid", code=code)


def beat(**more: Any) -> Beat:
    return Beat(ts_us=1, collector="kernel@n", source="kernel", **more)


def test_a_client_that_cannot_go_on_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    fatal = KafkaError(KafkaError._FATAL, "out of order", fatal=True)
    bench = Bench(tmp_path, Client(fatal), Client())
    for code in range(5):
        bench.outlet.publish(KERNEL_EVENTS, event(code))
    bench.ticks(10)
    assert [one["code"] for one in bench.clients[1].of("kernel.events.v1")] == [0, 1, 2, 3, 4]
    assert bench.outlet.lost == 0


def test_a_message_that_kafka_refuses_is_counted_in_the_next_beat_and_only_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path, client := Client(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)))
    bench.outlet.publish(KERNEL_EVENTS, event(1))
    bench.ticks(1)
    client.error = None
    for _ in range(2):
        bench.outlet.beat(beat())
        bench.ticks(1)
    assert [one["lost"] for one in client.of("collector.beats.v1")] == [1, 0]


def test_beats_say_how_much_waits_on_disk(tmp_path: Path) -> None:
    bench = Bench(tmp_path, client := Client(KafkaError(KafkaError._TRANSPORT)))
    for code in range(3):
        bench.outlet.publish(KERNEL_EVENTS, event(code))
    bench.ticks(2)
    bench.outlet.beat(beat())
    client.error = None
    bench.ticks(10)
    assert [one["spooled"] for one in client.of("collector.beats.v1")] == [3]
    assert [one["code"] for one in client.of("kernel.events.v1")] == [0, 1, 2]


def test_bad_bytes_are_reported_with_a_limit_and_none_is_uncounted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, client := Client(), reject_every_s=10.0)
    for number in range(25):
        bench.outlet.reject("kernel:n", b"%d" % number, "bad")
        bench.ticks(1)
    bench.outlet.close()
    told = [REJECTED.decode(value) for name, value in client.arrived if name == REJECTED.name]
    assert told[0].unreported == 0
    assert len(told) == 4
    assert sum(1 + one.unreported for one in told) == 25
    assert {(one.source, one.by, one.cluster) for one in told} == {("kernel:n", "collector", "c")}
    assert isinstance(told[0], Rejected)


def test_what_waits_at_the_end_is_sent_by_the_next_process(tmp_path: Path) -> None:
    first = Bench(tmp_path, Client(KafkaError(KafkaError._TRANSPORT)))
    for code in range(3):
        first.outlet.publish(KERNEL_EVENTS, event(code))
    first.ticks(1)
    first.outlet.close()
    second = Bench(tmp_path, client := Client())
    second.outlet.publish(KERNEL_EVENTS, event(3))
    second.ticks(5)
    assert [one["code"] for one in client.of("kernel.events.v1")] == [0, 1, 2, 3]


def test_metrics_show_what_the_outlet_counts(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Client())
    bench.outlet.publish(KERNEL_EVENTS, event(1))
    bench.outlet.beat(beat(samples=7, bytes=900, seconds=0.5, target="a"))
    bench.outlet.beat(beat(ok=False, target="b"))
    bench.outlet.reject("kernel:/var/log/a", b"x", "/var/log/a:12: an Xid line in no known form")
    bench.outlet.reject("kernel:/var/log/b", b"y", "/var/log/b:99: an Xid line in no known form")
    bench.ticks(1)
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in OutletMetrics(bench.outlet).collect()
        for sample in family.samples
    }
    wanted: dict[tuple[str, ...], float] = {
        ("lockstep_collect_sweeps_total", "kernel", "ok"): 1,
        ("lockstep_collect_sweeps_total", "kernel", "failed"): 1,
        ("lockstep_collect_sweep_seconds_total", "kernel"): 0.5,
        ("lockstep_collect_samples_total", "kernel"): 7,
        ("lockstep_collect_bytes_total", "kernel"): 900,
        ("lockstep_collect_targets", "kernel", "up"): 1,
        ("lockstep_collect_targets", "kernel", "down"): 1,
        ("lockstep_collect_rejected_total", "kernel", "an Xid line in no known form"): 2,
        **{
            (f"lockstep_collect_{name}", topic): count
            for topic, messages in ((KERNEL_EVENTS.name, 1), (COLLECTOR_BEATS.name, 2), (REJECTED.name, 2))
            for name, count in {
                "messages_total": messages,
                "delivered_total": messages,
                "refused_total": 0,
                "failed_total": 0,
                "lost_total": 0,
                "spooled": 0,
                "spooled_bytes": 0,
            }.items()
        },
    }
    assert found == wanted


def test_metrics_show_what_became_of_messages_whose_sender_waited(tmp_path: Path) -> None:
    confirmed = Client()
    bench = Bench(tmp_path, Client(), confirmed)
    bench.outlet.publish(KERNEL_EVENTS, event(0))

    async def hand_over() -> list[bool]:
        told = []
        for error in (None, KafkaError(KafkaError._MSG_TIMED_OUT), KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)):
            confirmed.error = error
            told.append(
                await bench.outlet.deliver(
                    [(KERNEL_EVENTS, event(1)), (GPU_SCRAPES, GpuScrape(node="n", ts_us=1, gpus=[]))]
                )
            )
        return told

    assert asyncio.run(hand_over()) == [True, False, True]
    bench.ticks(1)
    found = {
        (sample.name.removeprefix("lockstep_collect_"), sample.labels["topic"]): sample.value
        for family in OutletMetrics(bench.outlet).collect()
        for sample in family.samples
        if "topic" in sample.labels
    }
    wanted = {
        "messages_total": (4, 3),
        "delivered_total": (2, 1),
        "refused_total": (1, 1),
        "failed_total": (1, 1),
        "lost_total": (1, 1),
        "spooled": (0, 0),
        "spooled_bytes": (0, 0),
    }
    topics = (KERNEL_EVENTS.name, GPU_SCRAPES.name)
    assert found == {
        (name, topic): n for name, counts in wanted.items() for topic, n in zip(topics, counts, strict=True)
    }
    assert bench.outlet.lost == 2
    bench.outlet.close()


def test_a_target_that_fell_silent_is_counted_no_more() -> None:
    now_s = 0.0
    sweeps = Sweeps(lambda: now_s)
    sweeps.count(beat(target="a", interval_s=60.0))
    sweeps.count(beat(target="b", ok=False, interval_s=5.0))
    assert sweeps.targets("kernel") == (1, 1)
    now_s = 301.0
    assert sweeps.targets("kernel") == (1, 0)
    now_s = 601.0
    assert sweeps.targets("kernel") == (0, 0)


def test_reasons_are_few_whatever_is_rejected() -> None:
    reasons = Reasons()
    for number in range(100):
        reasons.count(f"dcgm:node{number}", f"page{number}:{number}: sample {number} is no number: 'x{number}'")
    assert reasons.counts == {("dcgm", "sample N is no number: …"): 100}
    for letter in range(100):
        reasons.count("dcgm:a", "word " + "abcdefghij"[letter // 10] + "abcdefghij"[letter % 10])
    assert len(reasons.counts) == MOST + 1
    assert reasons.counts["dcgm", OTHER] == 100 - (MOST - 1)


def test_a_taken_port_is_an_error_where_it_was_asked_for_and_gives_way_where_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Client())
    server = MetricsServer(bench.outlet, "127.0.0.1", 0)
    taken = f"127.0.0.1:{server.address[1]}"
    with pytest.raises(SourceError, match="Address already in use"):
        listen(bench.outlet, taken, CollectorSettings())
    other = listen(bench.outlet, None, CollectorSettings(metrics_listen=taken))
    assert other is not None
    assert other.address[1] != server.address[1]
    other.close()
    server.close()


@pytest.mark.parametrize("text", ["host", "127.0.0.1:", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_said(tmp_path: Path, text: str) -> None:
    bench = Bench(tmp_path, Client())
    with pytest.raises(SourceError, match="write"):
        listen(bench.outlet, text, CollectorSettings())
