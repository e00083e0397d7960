"""Detector throughput through Faust: samples per CPU-second, beside the same detectors without Faust.

    python -m tests.bench.faust_bench [MESSAGES]

Produces scrapes of 8 GPUs x 32 fields (256 samples) of 400 nodes into the real local Kafka, then lets one
worker judge them with every detector, from its start to the last message. CPU is the worker's own, start-up and
warm-up taken off, recovery and commits not.
"""

import os
import random
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.topics import GPU_SCRAPES
from streams.bank import Bank
from streams.detectors.all import detectors
from streams.pipeline import Pipeline
from tests.integration.stream_line import Line, line, wait_until

NODES = 400
GPUS = 8
FIELDS = (
    *(100, 101, 112, 140, 150, 155, 156, 190, 191, 202, 203, 204, 206, 207, 210, 211),
    *(230, 240, 241, 250, 251, 252, 310, 311, 312, 313, 393, 394, 395, 396, 1001, 1002),
)
SAMPLES = GPUS * len(FIELDS)
S = 1_000_000


def scrapes(count: int) -> list[GpuScrape]:
    """Healthy nodes whose values move a little, a scrape a second each, ending now."""
    rng = random.Random(7)
    gpus = [
        [
            Gpu(uuid=f"GPU-{n:04}-{i}", index=i, model="NVIDIA H100 80GB HBM3", pci=f"0000:{i + 1:02x}:00")
            for i in range(GPUS)
        ]
        for n in range(NODES)
    ]
    fixed = {100: 1755.0, 101: 2619.0, 112: 0.0, 203: 99.0, 395: 0.0, 396: 0.0, 230: 0.0}
    fixed |= dict.fromkeys((310, 311, 312, 313, 393, 394, 240, 241, 202), 0.0)
    out = []
    start = time.time_ns() // 1000 - (count // NODES) * S
    for number in range(count):
        node, second = number % NODES, number // NODES
        columns: dict[str, list[float | None]] = {
            str(f): [fixed[f]] * GPUS if f in fixed else [round(50 + 20 * rng.random(), 2) for _ in range(GPUS)]
            for f in FIELDS
        }
        out.append(GpuScrape(node=f"node-{node:04}", ts_us=start + second * S, gpus=gpus[node], columns=columns))
    return out


def alone(raw: list[bytes]) -> tuple[float, float]:
    """CPU-seconds of decoding and judging without Faust: the bank only, and the whole pipeline."""
    bank, began = Bank(detectors()), time.process_time()
    for value in raw:
        bank.feed(GPU_SCRAPES, GPU_SCRAPES.decode(value))
    of_bank = time.process_time() - began
    pipeline, began = Pipeline(), time.process_time()
    for value in raw:
        pipeline.feed(GPU_SCRAPES, GPU_SCRAPES.decode(value))
    return of_bank, time.process_time() - began


def cpu_s(pid: int) -> float:
    """User and system time of a process, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def judged(url: str) -> int:
    """Messages that the worker judged."""
    with urllib.request.urlopen(url) as reply:
        for row in reply.read().decode().splitlines():
            if row.startswith('lockstep_stream_messages_total{topic="gpu.scrapes.v1"}'):
                return int(float(row.split()[1]))
    return 0


def through_faust(live: Line, count: int, messages: list[GpuScrape]) -> tuple[float, float]:
    """CPU-seconds and wall seconds from the first to the last message."""
    with live.worker() as worker:
        live.ready()
        url = live.log().split("metrics at ")[1].split()[0]
        cpu, wall = cpu_s(worker.pid), time.monotonic()
        live.produce([(GPU_SCRAPES, m) for m in messages])
        produced = time.monotonic() - wall
        wait_until(lambda: judged(url) >= count, live.log)
        print(f"  produced in {produced:.1f} s, while the worker read")
        return cpu_s(worker.pid) - cpu, time.monotonic() - wall


def main(argv: Sequence[str] = ()) -> None:
    """Print one line a measurement."""
    count = int(argv[0]) if argv else 40_000
    messages = scrapes(count)
    raw = [GPU_SCRAPES.encode(m) for m in messages]
    print(f"{count} scrapes of {SAMPLES} samples, {sum(map(len, raw)) / count:.0f} bytes each, {NODES} nodes")
    of_bank, of_pipeline = alone(raw)
    _show("detectors alone, with decoding", count, of_bank, of_bank)
    _show("whole pipeline without Faust", count, of_pipeline, of_pipeline)
    with line() as live:
        cpu, wall = through_faust(live, count, messages)
    _show("through Faust and Kafka, one worker", count, cpu, wall)


def _show(what: str, count: int, cpu: float, wall: float) -> None:
    print(
        f"{what:<38} {count * SAMPLES / cpu / 1e3:8.0f} k samples/CPU-s  {count / cpu:7.0f} messages/CPU-s  "
        f"{count / wall:7.0f} messages/s"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
