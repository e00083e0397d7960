"""Kafka away under load, the collector killed -9 twice meanwhile: what is lost, doubled, out of order, and how late.

`make bench ARGS="outage --seconds 600"`. Two sources in one process: numbered kernel lines (a log can be read
again, so none may be lost) and exporter pages (a page that was on its way into a killed process is gone with it).
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from collectors.contract.kafka import KafkaClient
from collectors.contract.topics import COLLECTOR_TOPICS, GPU_SCRAPES, KERNEL_EVENTS
from infra.kafka.local import Broker, restart, running_kafka, stop
from infra.kafka.process import free_port
from infra.topics import admin_client, create

TARGETS = 200
INTERVAL_S = 2
LINES_PER_S = 50
STEADY_S = 15.0


@dataclass(slots=True)
class Arrivals:
    """What came, in the order of the log, and how long after its own time."""

    lines: list[int] = field(default_factory=list)
    pages: Counter[tuple[str, int]] = field(default_factory=Counter)
    page_order: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    lag_s: list[tuple[float, float]] = field(default_factory=list)
    """(time of the message, seconds until it was read from Kafka)."""


def write_log(path: Path, stopped: threading.Event, written: list[int]) -> None:
    """Numbered XID lines, steadily."""
    began = time.monotonic()
    with path.open("a", buffering=1) as log:
        while not stopped.is_set():
            due = int((time.monotonic() - began) * LINES_PER_S)
            for number in range(len(written), due):
                stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
                log.write(f"{stamp}+00:00 node-k kernel: NVRM: Xid (PCI:0000:18:00): 94, pid={number}, name=p\n")
                written.append(number)
            time.sleep(0.05)


def follow(broker: Broker, got: Arrivals, stopped: threading.Event) -> None:
    """Read both topics as they come until told to stop."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "outage", "log_level": 0})
    parts = [TopicPartition(t.name, n, OFFSET_BEGINNING) for t in (GPU_SCRAPES, KERNEL_EVENTS) for n in range(8)]
    consumer.assign(parts)
    while not stopped.is_set():
        for one in consumer.consume(2000, timeout=0.2):
            if one.error() is not None:
                continue
            now_s, raw = time.time(), one.value() or b""
            if one.topic() == KERNEL_EVENTS.name:
                event = KERNEL_EVENTS.decode(raw)
                got.lines.append(event.pid if event.pid is not None else -1)
                got.lag_s.append((event.ts_us / 1e6, now_s - event.ts_us / 1e6))
            else:
                scrape = GPU_SCRAPES.decode(raw)
                count = int(scrape.columns["156"][0] or 0)
                got.pages[scrape.node, count] += 1
                got.page_order[scrape.node].append(count)
                got.lag_s.append((scrape.ts_us / 1e6, now_s - scrape.ts_us / 1e6))
    consumer.close()


@contextlib.contextmanager
def thread(*jobs: threading.Thread) -> Iterator[None]:
    """Started; joined by whoever sets their events."""
    for job in jobs:
        job.start()
    try:
        yield
    finally:
        for job in jobs:
            job.join()


class Collector:
    """The process under test."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self._folder, self._bootstrap = folder, bootstrap
        self.port = free_port()
        self._log = (folder / "collect.log").open("w")
        self.start()

    def start(self) -> None:
        """Again, with the same state."""
        command = [sys.executable, "-m", "infra.command.main", "collect", "--config", str(self._folder / "c.toml")]
        command += ["--metrics-listen", f"127.0.0.1:{self.port}"]
        env = {
            "LOCKSTEP_KAFKA": self._bootstrap,
            "LOCKSTEP_STATE": str(self._folder / "state"),
            "PATH": os.environ["PATH"],
        }
        self.running = subprocess.Popen(command, env=env, stdout=self._log, stderr=subprocess.STDOUT)

    def kill(self) -> float:
        """-9; when."""
        self.running.send_signal(signal.SIGKILL)
        self.running.wait()
        return time.time()

    def metric(self, name: str) -> float:
        """The sum over all labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))

    def end(self) -> None:
        """As an operator would."""
        self.running.terminate()
        self.running.wait()
        self._log.close()


def main(argv: Sequence[str] = ()) -> None:
    """Run it and print what came of it."""
    parser = argparse.ArgumentParser(prog="outage")
    parser.add_argument("--seconds", type=float, default=60.0, help="Kafka is away for so long")
    away_s = parser.parse_args(list(argv)).seconds
    folder = Path(tempfile.mkdtemp(prefix="lockstep-outage-"))
    try:
        with running_kafka(folder / "kafka") as broker:
            create(admin_client(KafkaClient(broker.bootstrap)), COLLECTOR_TOPICS)
            _run(folder, broker, away_s)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(folder: Path, broker: Broker, away_s: float) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.numbered_pages", str(TARGETS)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    port = int(server.stdout.readline())
    groups = [{"targets": [f"127.0.0.1:{port}"], "labels": {"__metrics_path__": f"/l/{n}"}} for n in range(TARGETS)]
    (folder / "targets.json").write_text(json.dumps(groups))
    (folder / "kernel.log").touch()
    (folder / "c.toml").write_text(
        f'[dcgm]\ntargets = "{folder}/targets.json"\ninterval = {INTERVAL_S}\n'
        f'[kernel]\nfile = "{folder}/kernel.log"\nfollow = true\ninterval = 5\n'
    )
    written: list[int] = []
    got, writing, reading = Arrivals(), threading.Event(), threading.Event()
    collector = Collector(folder, broker.bootstrap)
    kills: list[float] = []
    writer = threading.Thread(target=write_log, args=(folder / "kernel.log", writing, written), daemon=True)
    reader = threading.Thread(target=follow, args=(broker, got, reading), daemon=True)
    try:
        with thread(writer, reader):
            try:
                load = f"{TARGETS} pages every {INTERVAL_S} s and {LINES_PER_S} log lines a second"
                print(f"{load}; Kafka away {away_s:g} s", flush=True)
                time.sleep(STEADY_S)
                stop(broker.folder)
                for _ in range(2):
                    time.sleep(away_s / 3)
                    kills.append(collector.kill())
                    collector.start()
                time.sleep(away_s / 3)
                waiting, size = (collector.metric(f"lockstep_collect_spooled{what}") for what in ("", "_bytes"))
                restart(broker)
                back_s = time.time()
                while collector.metric("lockstep_collect_spooled") and time.time() < back_s + 300:
                    time.sleep(0.2)
                drained_s = time.time() - back_s
                time.sleep(STEADY_S)
                writing.set()
                time.sleep(5.0)
                lost = collector.metric("lockstep_collect_lost_total")
                kills.append(time.time())
                collector.end()
                time.sleep(3.0)
            finally:
                writing.set()
                reading.set()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/counts", timeout=10) as answer:
            served: dict[str, list[float]] = json.loads(answer.read())
    finally:
        server.terminate()
        server.wait()
    print(
        f"on disk when Kafka came back: {waiting:,.0f} messages, {size / 1e6:,.1f} MB; drained after {drained_s:.1f} s"
    )
    _tell(got, written, served, kills, back_s, lost)


def _tell(
    got: Arrivals, written: list[int], served: dict[str, list[float]], kills: list[float], back_s: float, lost: float
) -> None:
    arrived = Counter(got.lines)
    absent = [number for number in written if not arrived[number]]
    firsts = list(dict.fromkeys(got.lines))
    print(f"log lines: {len(written):,} written, {len(absent)} lost, {_doubled(arrived)} doubled")
    print(f"  first arrivals in order: {firsts == sorted(firsts)}")
    gone = [
        (node, count, at)
        for node, times in served.items()
        for count, at in enumerate(times, start=1)
        if not got.pages[node, count]
    ]
    at_kill = sum(any(kill - 1.0 < at < kill + 1.0 for kill in kills) for _, _, at in gone)
    order = all(list(dict.fromkeys(seen)) == sorted(set(seen)) for seen in got.page_order.values())
    total = sum(map(len, served.values()))
    print(f"pages: {total:,} served, {len(gone) - at_kill} lost, {_doubled(got.pages)} doubled")
    print(f"  in order per node: {order}; {at_kill} were on their way into a process that ended then")
    print(f"counted as lost by the collector: {lost:.0f}")
    new = sorted(lag for at, lag in got.lag_s if at > back_s + 1.0)
    if new:
        print(f"made after Kafka was back: read after {new[len(new) // 2]:.2f} s (median), {new[-1]:.1f} s (longest)")


def _doubled(arrived: Counter[Any]) -> int:
    return sum(count - 1 for count in arrived.values())


if __name__ == "__main__":
    main(sys.argv[1:])
