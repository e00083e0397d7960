"""`python -m tests.bench.load_bench`: Kafka into DuckLake, in samples per CPU-second, beside a floor in the same run.

The floor is DuckDB inserting a ready Arrow table of the same shape into the same kind of table: what the loader
adds is reading Kafka, decoding JSON and turning messages into columns. CPU-seconds are those of the process,
all threads, start-up not counted.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from confluent_kafka import Producer

from collectors.contract.fabric import Port, PortScrape
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.kafka import KafkaClient
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import FABRIC_SCRAPES, GPU_SCRAPES
from infra.kafka.local import running_kafka
from infra.topics import ALL_TOPICS, admin_client, create
from warehouse import maintenance
from warehouse.feed import Feed, quiet_logger
from warehouse.insert import insert
from warehouse.loader import write
from warehouse.loading import Loading
from warehouse.offsets import read_offsets
from warehouse.opening import connect
from warehouse.place import place_of
from warehouse.rejects import Rejects, Reporter
from warehouse.rows.topics import rows_of, samples_of
from warehouse.settings import WarehouseSettings
from warehouse.transaction import transact

LIVE_SWEEPS = 60
T0 = 1_780_000_000_000_000
INTERVAL_US = 10_000_000
BUSY = {
    "1001": (0.9, 0.05),
    "1002": (0.85, 0.05),
    "1004": (0.5, 0.1),
    "1005": (0.4, 0.1),
    "155": (640.0, 30.0),
    "150": (62.0, 3.0),
    "140": (70.0, 3.0),
    "100": (1950.0, 30.0),
    "1009": (2e9, 1e9),
    "1010": (2e9, 1e9),
    "1011": (9e10, 3e10),
    "1012": (9e10, 3e10),
    "203": (98.0, 2.0),
    "204": (45.0, 8.0),
}
WHOLE = ("155", "150", "140", "100", "1009", "1010", "1011", "1012", "203", "204")
STILL = ("101", "112", "202", "206", "207", "230", "240", "241", "251", "252", "310", "312", "393", "394", "395")
PORT_BUSY = ("port_rx_bytes", "port_tx_bytes", "port_rx_packets", "port_tx_packets", "port_ecn_marked_packets")
PORT_STILL = ("port_rx_discard_packets", "port_tx_discard_packets", "port_rx_error_packets", "port_link_down_events")


def gpu_scrapes(nodes: int, sweeps: int, draw: random.Random) -> Iterator[GpuScrape]:
    """8 GPUs x 32 fields a node and sweep; half of the fields move, as on a busy node."""
    for sweep in range(sweeps):
        for node in range(nodes):
            gpus = [
                Gpu(
                    uuid=f"GPU-{node:08x}-{at:04x}-4000-8000-{node * 8 + at:012x}",
                    index=at,
                    model="NVIDIA H100 80GB HBM3",
                    pci=f"0000:{at:02x}:00",
                    namespace="ml",
                    pod=f"train-{node}",
                    container="main",
                )
                for at in range(8)
            ]
            columns: dict[str, list[float | None]] = {}
            for field, (mean, spread) in BUSY.items():
                digits = 0 if field in WHOLE else 6
                columns[field] = [round(max(0.0, draw.gauss(mean, spread)), digits) for _ in gpus]
            for field in STILL:
                columns[field] = [0.0] * 8
            columns["156"] = [float(sweep * 6_400_000 + draw.randrange(100_000)) for _ in gpus]
            columns["449"] = [0.0] * 8
            columns["253"] = [1024.0] * 8
            yield GpuScrape(node=f"node{node:04d}", ts_us=T0 + sweep * INTERVAL_US, gpus=gpus, columns=columns)


def port_scrapes(devices: int, sweeps: int, draw: random.Random) -> Iterator[PortScrape]:
    """64 ports x (9 counters of the port and 5 of each of 8 priorities and queues) a switch and sweep."""
    ports = [Port(name=f"Ethernet{at * 4}", speed_gbps=400.0, lossless=[3, 4]) for at in range(64)]
    totals: dict[tuple[int, str], list[int]] = {}
    for sweep in range(sweeps):
        for device in range(devices):
            columns: dict[str, list[int | float | None]] = {}
            for counter in PORT_BUSY:
                total = totals.setdefault((device, counter), [draw.randrange(2**40) for _ in ports])
                for at in range(64):
                    total[at] += draw.randrange(2**32)
                columns[counter] = list(total)
            for counter in PORT_STILL:
                columns[counter] = [0] * 64
            for priority in range(8):
                total = totals.setdefault((device, f"p{priority}"), [0] * 64)
                for at in range(64 if priority == 3 else 0):
                    total[at] += draw.randrange(200)
                columns[f"pfc_rx_frames.{priority}"] = list(total)
                columns[f"queue_tx_packets.{priority}"] = [3 * count for count in total]
                for counter in ("pfc_tx_frames", "queue_drop_packets", "queue_ecn_marked_packets"):
                    columns[f"{counter}.{priority}"] = [0] * 64
            yield PortScrape(
                device=f"leaf{device:02d}", ts_us=T0 + sweep * INTERVAL_US, epoch="boot-1", ports=ports, columns=columns
            )


@dataclass(frozen=True, slots=True)
class Result:
    """One shape's figures."""

    name: str
    samples: int
    load_per_cpu_s: float
    floor_per_cpu_s: float
    bytes_before: float
    bytes_after: float
    reads: int
    read_errors: int

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.samples:,} samples; load {self.load_per_cpu_s:,.0f} a CPU-second, "
            f"floor {self.floor_per_cpu_s:,.0f}; {self.bytes_before:.2f} bytes a sample in a commit a sweep, "
            f"{self.bytes_after:.2f} after merge; {self.reads} reads meanwhile, {self.read_errors} errors"
        )


def measure(name: str, topic: Topic[Any], messages: list[Message], sweeps: int, bootstrap: str, state: Path) -> Result:
    """Load, then the floor, then the bytes."""
    samples = sum(map(samples_of, messages))
    fill(topic, messages, bootstrap)
    settings = WarehouseSettings(state=str(state))
    reading = Reading(settings)
    load_s = load(settings, bootstrap, reading)
    floor_s = floor(WarehouseSettings(state=str(state / "floor")), topic, messages)
    before, after = sizes(WarehouseSettings(state=str(state / "live")), topic, messages, len(messages) // sweeps)
    return Result(name, samples, samples / load_s, samples / floor_s, before, after, reading.reads, reading.errors)


def sizes(settings: WarehouseSettings, topic: Topic[Any], messages: list[Message], sweep: int) -> tuple[float, float]:
    """Bytes a sample of live running, a commit a sweep, before and after maintenance."""
    kept = messages[: LIVE_SWEEPS * sweep]
    place = place_of(settings)
    with connect(read_only=False, settings=settings) as connection:
        for at in range(0, len(kept), sweep):
            write(connection, [(topic, kept[at : at + sweep])], place=place)
        report = maintenance.run(connection, place=place, retention_h=0.0)
    samples = sum(map(samples_of, kept))
    return report.bytes_before / samples, report.bytes_after / samples


def fill(topic: Topic[Any], messages: list[Message], bootstrap: str) -> None:
    """All messages into Kafka, as collectors send them."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "compression.type": "zstd",
            "linger.ms": 20,
            "log_level": 0,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    for message in messages:
        producer.produce(topic.name, key=topic.key(message), value=topic.encode(message))
        producer.poll(0)
    producer.flush()


class Reading:
    """A reader in another process's place: a session of its own that asks now and then."""

    def __init__(self, settings: WarehouseSettings) -> None:
        self.settings = settings
        self.reads = self.errors = 0
        self.cpu_s = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        with connect(settings=WarehouseSettings(state=self.settings.state, threads=1)) as session:
            while not self.ended.wait(0.5):
                began_s = time.thread_time()
                try:
                    session.execute("select count(*), max(ts) from gpu_scrapes").fetchall()
                    self.reads += 1
                except duckdb.Error as why:
                    sys.stderr.write(f"reader: {why}\n")
                    self.errors += 1
                self.cpu_s += time.thread_time() - began_s


def load(settings: WarehouseSettings, bootstrap: str, reading: Reading) -> float:
    """CPU-seconds of loading to the end, the reader's not counted."""
    connection = connect(read_only=False, settings=settings)
    client, logger = KafkaClient(bootstrap), quiet_logger(lambda text: None)
    committed = read_offsets(connection)
    feed = Feed(client, [topic.name for topic in ALL_TOPICS], committed, print, logger)
    feed.refresh()
    reporter = Reporter(client, logger)
    loading = Loading(
        place=place_of(settings),
        open_lake=lambda: connect(read_only=False, settings=settings),
        connection=connection,
        feed=feed,
        reporter=reporter,
        rejects=Rejects("default"),
        committed=committed,
        tell=print,
        stop=threading.Event(),
        until_end=True,
    )
    reader = threading.Thread(target=reading.run)
    reader.start()
    began_s = time.process_time()
    loading.run()
    spent_s = time.process_time() - began_s
    reading.ended.set()
    reader.join()
    feed.close()
    reporter.close()
    connection.close()
    return spent_s - reading.cpu_s


def floor(settings: WarehouseSettings, topic: Topic[Any], messages: list[Message]) -> float:
    """CPU-seconds of inserting the same rows as one ready Arrow table."""
    tables = rows_of(topic.name, messages)
    with connect(read_only=False, settings=settings) as connection:
        began_s = time.process_time()
        transact(connection, lambda inside: insert(inside, tables), place=place_of(settings))
        return time.process_time() - began_s


def main(argv: Sequence[str] = ()) -> int:
    """Print a line a shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=128, help="GPU nodes (default %(default)s)")
    parser.add_argument("--sweeps", type=int, default=200, help="sweeps of 10 s (default %(default)s)")
    args = parser.parse_args(argv)
    shapes: list[tuple[str, Topic[Any], list[Message]]] = [
        ("GpuScrape 8x32", GPU_SCRAPES, list(gpu_scrapes(args.nodes, args.sweeps, random.Random(1)))),
        ("PortScrape 64x49", FABRIC_SCRAPES, list(port_scrapes(16, args.sweeps, random.Random(2)))),
    ]
    for name, topic, messages in shapes:
        with tempfile.TemporaryDirectory() as folder, running_kafka(Path(folder) / "kafka") as broker:
            create(admin_client(KafkaClient(broker.bootstrap)), ALL_TOPICS)
            print(measure(name, topic, messages, args.sweeps, broker.bootstrap, Path(folder) / "state"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
