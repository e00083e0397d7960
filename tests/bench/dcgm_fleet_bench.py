"""A fleet in one process: 1,000 exporters x 256 samples every 5 s into Kafka: memory, cores, lateness.

The floor beside it is what any reader of these pages has to do: take them off their sockets and throw them away.
"""

import asyncio
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import confluent_kafka

from collectors.contract.kafka import KafkaClient
from collectors.contract.topics import COLLECTOR_BEATS, COLLECTOR_TOPICS
from collectors.dcgm.targets import read_target
from infra.kafka.local import running_kafka
from infra.topics import admin_client, create
from tests.bench.dcgm_bench import cpu_s, process
from tests.bench.pages import SAMPLES

TARGETS = 1000
SERVERS = 4
INTERVAL_S = 5.0
WARM_SWEEPS = 3
SWEEPS = 8


def lateness(beats: Sequence[tuple[str, int]]) -> list[float]:
    """Seconds from the moment a target was due to the end of its sweep, sorted."""
    offsets = {name: read_target(name).offset_s(INTERVAL_S) for name, _ in beats}
    return sorted((ts_us / 1e6 - offsets[name]) % INTERVAL_S for name, ts_us in beats)


def beats_between(bootstrap: str, since_us: int, until_us: int) -> list[tuple[str, int]]:
    """(target, time) of each good beat between two moments."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.partition.eof": True}
    )
    parts = range(COLLECTOR_BEATS.partitions)
    consumer.assign([confluent_kafka.TopicPartition(COLLECTOR_BEATS.name, part, 0) for part in parts])
    found: list[tuple[str, int]] = []
    ended: set[int | None] = set()
    while len(ended) < COLLECTOR_BEATS.partitions:
        message = consumer.poll(10.0)
        if message is None:
            raise RuntimeError("Kafka does not give the beats")
        raw = message.value()
        if message.error() is not None or raw is None:
            ended.add(message.partition())
            continue
        beat = COLLECTOR_BEATS.decode(raw)
        if since_us <= beat.ts_us < until_us and beat.target is not None and beat.ok:
            found.append((beat.target, beat.ts_us))
    consumer.close()
    return found


def peak_mb(pid: int) -> float:
    """The most memory that a process ever had, MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


async def _discard(urls: Sequence[tuple[int, str]], sweeps: int) -> None:
    async def one(port: int, path: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        for _ in range(sweeps):
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.rpartition(b":")[2]))
        writer.close()

    for start in range(0, len(urls), 50):
        await asyncio.gather(*(one(*url) for url in urls[start : start + 50]))


def floor(urls: Sequence[tuple[int, str]]) -> float:
    """CPU-seconds for one sweep of pages that are read and dropped."""
    began = resource.getrusage(resource.RUSAGE_SELF)
    asyncio.run(_discard(urls, 3))
    ended = resource.getrusage(resource.RUSAGE_SELF)
    return (ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime) / 3


def main(argv: Sequence[str] = ()) -> None:
    """Print what the collector took; `--targets N` and `--sweeps N` for a quicker look."""
    words = dict(zip(argv[::2], map(int, argv[1::2]), strict=True))
    count, sweeps = words.get("--targets", TARGETS), words.get("--sweeps", SWEEPS)
    folder = Path(tempfile.mkdtemp(prefix="lockstep-bench-"))
    share = -(-count // SERVERS)
    try:
        with ExitStack() as stack:
            broker = stack.enter_context(running_kafka(folder / "kafka"))
            urls: list[tuple[int, str]] = []
            for first in range(0, count, share):
                pages = min(share, count - first)
                command = [sys.executable, "-m", "tests.bench.pages", str(pages), str(first)]
                server = stack.enter_context(process(command, folder / f"pages{first}.log"))
                assert server.stdout is not None
                port = int(server.stdout.readline())
                urls += [(port, f"/l/{n}") for n in range(pages)]
            create(admin_client(KafkaClient(broker.bootstrap)), COLLECTOR_TOPICS)
            least_s = floor(urls)
            targets = folder / "targets.json"
            groups = [{"targets": [f"127.0.0.1:{port}"], "labels": {"__metrics_path__": path}} for port, path in urls]
            targets.write_text(json.dumps(groups))
            command = [sys.executable, "-m", "infra.command.main", "collect", "dcgm", "--targets", str(targets)]
            command += ["--interval", str(INTERVAL_S), "--metrics-listen", "off"]
            env = {"LOCKSTEP_KAFKA": broker.bootstrap, "LOCKSTEP_STATE": str(folder / "state")}
            with process(command, folder / "lockstep.log", **env) as running:
                time.sleep(INTERVAL_S * WARM_SWEEPS)
                since_us, began_s = time.time_ns() // 1000, cpu_s(running.pid)
                time.sleep(INTERVAL_S * sweeps)
                used_s, memory = cpu_s(running.pid) - began_s, peak_mb(running.pid)
                until_us = time.time_ns() // 1000
                time.sleep(1.0)
            late = lateness(beats_between(broker.bootstrap, since_us, until_us))
            show(count, sweeps, used_s, memory, late, least_s)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def show(count: int, sweeps: int, used_s: float, memory: float, late: Sequence[float], least_s: float) -> None:
    """The table."""
    pages = count * sweeps
    load = os.getloadavg()[0]
    print(
        f"{count} targets x {SAMPLES} samples every {INTERVAL_S:g} s in one process, {sweeps} sweeps, load {load:.1f}"
    )
    each, least = used_s / pages * 1e6, least_s / count * 1e6
    print(f"{'cores':<32}{used_s / (sweeps * INTERVAL_S):>12.2f}    (aim 0.5)  {each:,.0f} CPU-us a page")
    print(f"{'ratio to reading and dropping':<32}{each / least:>12.2f} x  ({least:,.0f} CPU-us a page)")
    print(f"{'memory':<32}{memory:>12.0f} MB (aim 300)")
    p50, p99 = (late[int(len(late) * part)] for part in (0.5, 0.99)) if late else (0.0, 0.0)
    print(f"{'sweeps that ended well':<32}{len(late):>12,} of {pages:,}")
    if late:
        print(f"{'lateness p99':<32}{p99:>12.2f} s  (aim 1.0)  p50 {p50:.2f} s, worst {late[-1]:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
