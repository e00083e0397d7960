"""A stream worker as a process of its own, a story for it in Kafka, and what it made of it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement, StepReport
from collectors.contract.kafka import KafkaClient
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, JOB_PLACEMENTS, JOB_STEPS, KERNEL_EVENTS
from infra.kafka.local import Broker, running_kafka
from infra.topics import ALL_TOPICS, admin_client, create
from streams.contract import FINDINGS, Finding, finding_key

S = 1_000_000
PATIENCE_S = 60.0
RANKS = 8


@dataclass
class Line:
    """A broker with all topics and a state folder."""

    broker: Broker
    state: Path
    extra: dict[str, str] = field(default_factory=dict)

    @cached_property
    def producer(self) -> Producer:
        """One for all, as a collector has: to make it asks the broker for an id, and that takes a while."""
        return Producer({"bootstrap.servers": self.broker.bootstrap, "enable.idempotence": True})

    @property
    def environment(self) -> dict[str, str]:
        """What a worker reads."""
        return {
            **{k: v for k, v in os.environ.items() if not k.startswith("LOCKSTEP_")},
            "LOCKSTEP_STATE": str(self.state),
            "LOCKSTEP_KAFKA": self.broker.bootstrap,
            "LOCKSTEP_STREAM_METRICS": "0",
            **self.extra,
        }

    @contextmanager
    def worker(self, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
        """`lockstep stream`, ended with -9 when the block is left and it still runs."""
        log = (self.state / "stream.log").open("ab")
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.command.main", "stream", *words],
            env=self.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        log.close()
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()

    def log(self) -> str:
        """All that the workers said."""
        return (self.state / "stream.log").read_text()

    def ready(self, times: int = 1) -> None:
        """Until workers said `ready` so often."""
        wait_until(lambda: self.log().count("ready: worker") >= times, self.log)

    def produce(self, messages: Sequence[tuple[Topic[Any], Message]]) -> None:
        """Acknowledged by the broker."""
        for topic, message in messages:
            self.producer.produce(topic.name, topic.encode(message), key=topic.key(message).encode())
        assert self.producer.flush(30) == 0

    def produce_raw(self, topic: str, partition: int, raw: bytes) -> None:
        """Bytes as they are."""
        self.producer.produce(topic, raw, key=b"x", partition=partition)
        assert self.producer.flush(30) == 0

    def read(self, topic: Topic[Any], bad: bool = False) -> list[Any]:
        """Every message of a topic, in order within a partition. `bad`: pass over what cannot be read."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "group.id": "test",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        parts = [TopicPartition(topic.name, p, 0) for p in range(topic.partitions)]
        consumer.assign(parts)
        out, at_end = [], 0
        while at_end < len(parts):
            record = consumer.poll(10)
            assert record is not None
            error = record.error()
            if error is None:
                with suppress(*([msgspec.MsgspecError] if bad else [])):
                    out.append(topic.decode(record.value() or b""))
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end += 1
            else:
                raise AssertionError(error)
        consumer.close()
        return out


@contextmanager
def line(**extra: str) -> Iterator[Line]:
    """A broker with the topics of the contract."""
    with running_kafka() as broker, tempfile.TemporaryDirectory(prefix="lockstep-stream-") as state:
        create(admin_client(KafkaClient(broker.bootstrap)), ALL_TOPICS)
        yield Line(broker, Path(state), extra)


def wait_until(
    true: Callable[[], bool], else_say: Callable[[], object] = lambda: "", patience_s: float = PATIENCE_S
) -> None:
    """Poll until something holds; fails after a minute, or so long as is said, with what was seen."""
    end = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < end, else_say()
        time.sleep(0.1)


def edges(findings: Sequence[Finding]) -> list[tuple[str, str, int, str, str, str]]:
    """What replay and the live path have to agree on, in an order of its own."""
    return sorted(
        (finding_key(f), f.state, f.ts_us if f.state != "updated" else 0, f.cause, f.severity, f.subject.kind)
        for f in findings
    )


def story(start_us: int, nodes: int, seconds: int, faults: bool = True) -> list[tuple[Topic[Any], Message]]:
    """Nodes with eight GPUs each: XIDs, a failed row remap, a hot GPU with its slow rank. By time."""
    out: list[tuple[Topic[Any], Message]] = []
    gpus = {
        n: [Gpu(uuid=f"GPU-{n}-{i}", index=i, pci=f"0000:{i + 1:02x}:00", model="H100") for i in range(8)]
        for n in range(nodes)
    }
    placement = [Placement(rank=r, node="n0", gpu_uuid=f"GPU-0-{r}", gpu_model="H100") for r in range(RANKS)]
    out.append((JOB_PLACEMENTS, JobEvent(ts_us=start_us, job="train", kind="placed", placement=placement)))
    for second in range(seconds):
        now = start_us + second * S
        for n in range(nodes):
            broken = faults and second >= 5 and n % 3 == 1
            columns: dict[str, list[float | None]] = {
                "150": [60.0] * 8,
                "100": [1755.0] * 8,
                "203": [100.0] * 8,
                "155": [600.0] * 8,
                "112": [0.0] * 8,
                "395": [float(broken and i == 2) for i in range(8)],
                "396": [0.0] * 8,
            }
            out.append((GPU_SCRAPES, GpuScrape(node=f"n{n}", ts_us=now, gpus=gpus[n], columns=columns)))
            if faults and second == 7 and n % 3 == 2:
                out.append(
                    (
                        KERNEL_EVENTS,
                        KernelEvent(
                            node=f"n{n}",
                            ts_us=now + 1000,
                            kind="xid",
                            code=79,
                            pci="0000:03:00",
                            raw="NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.",
                        ),
                    )
                )
        slow = faults and second >= 20
        out.append(
            (
                JOB_STEPS,
                StepReport(
                    job="train",
                    node="n0",
                    ts_us=now + 900_000,
                    rank=list(range(RANKS)),
                    step=[second] * RANKS,
                    phase=["train"] * RANKS,
                    start_us=[now] * RANKS,
                    step_s=[1.3 if slow else 1.0] * RANKS,
                    compute_s=[1.2 if slow and r == 3 else 0.8 + 0.001 * r for r in range(RANKS)],
                ),
            )
        )
    return out


def paced(messages: Sequence[tuple[Topic[Any], Message]], send: Callable[[Sequence[Any]], None]) -> None:
    """Send messages when their time comes, second by second."""
    batch: list[tuple[Topic[Any], Message]] = []
    for topic, message in messages:
        if batch and message.ts_us // S > batch[-1][1].ts_us // S:
            send(batch)
            batch = []
            time.sleep(max(0.0, message.ts_us / S - time.time()))
        batch.append((topic, message))
    send(batch)


def findings_settle(line_: Line, at_least: int) -> list[Finding]:
    """All findings, once there are so many."""
    found: list[Finding] = []

    def enough() -> bool:
        nonlocal found
        found = line_.read(FINDINGS)
        return len(found) >= at_least

    wait_until(enough, lambda: (len(found), line_.log()))
    return found
