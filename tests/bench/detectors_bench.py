"""Samples per CPU-second from message bytes to findings: `python -m tests.bench.detectors_bench`.

Node scrapes of 8 GPUs x 32 fields with Kubernetes labels, decoded and given to every detector; beside it the
floor, decoding alone, in the same run. No Kafka.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.message import Message
from collectors.contract.topics import GPU_SCRAPES
from streams.bank import Bank
from streams.detectors.all import detectors

GPUS = 8
START_US = 1_800_000_000_000_000
STEADY = ("310", "311", "312", "313", "346", "385", "389", "393", "395", "396", "230", "1523", "164", "409", "419")
"""Fields that stand still on a healthy GPU; the others differ with every scrape."""


@dataclass(frozen=True, slots=True)
class Load:
    """Encoded scrapes in the order of their times."""

    name: str
    raw: list[bytes]
    samples: int


def scrapes(nodes: int, rounds: int, sick: float) -> Iterator[GpuScrape]:
    """`sick`: share of nodes with one throttling GPU whose memory errors grow."""
    rng = random.Random(1)
    for at in range(rounds):
        for node in range(nodes):
            ill = node < sick * nodes
            yield GpuScrape(
                cluster="bench",
                node=f"node-{node:04}",
                ts_us=START_US + at * 10_000_000 + node,
                gpus=[_gpu(node, i) for i in range(GPUS)],
                columns=_columns(rng, ill, at),
            )


def _gpu(node: int, index: int) -> Gpu:
    return Gpu(
        uuid=f"GPU-{node:08x}-5e1f-4c9d-9a77-{index:012x}",
        index=index,
        model="NVIDIA H100 80GB HBM3",
        pci=f"0000:{0x1A + index:02x}:00",
        namespace="training",
        pod=f"pretrain-8b-worker-{node}",
        container="pytorch",
    )


def _columns(rng: random.Random, ill: bool, at: int) -> dict[str, list[float | None]]:
    one = [1.0 if ill and i == 3 else 0.0 for i in range(GPUS)]
    columns: dict[str, list[float | None]] = {f: [0.0] * GPUS for f in STEADY}
    columns["310"] = [300.0 * at * o for o in one]
    columns["164"] = [700.0] * GPUS
    columns["100"] = [1200.0 if o else 1900.0 + rng.randrange(6) * 15 for o in one]
    columns["112"] = [32.0 if o else 0.0 for o in one]
    columns["150"] = [float(rng.randrange(55, 70)) for _ in one]
    columns["140"] = [float(rng.randrange(60, 80)) for _ in one]
    columns["153"] = [float(rng.randrange(15, 30)) for _ in one]
    columns["156"] = [1e9 + 6.4e6 * at for _ in one]
    columns["155"] = [round(rng.uniform(600, 700), 3) for _ in one]
    columns["157"] = [round(rng.uniform(600, 700), 3) for _ in one]
    columns["203"] = [100.0] * GPUS
    columns["1002"] = [round(rng.uniform(0.85, 0.99), 6) for _ in one]
    for field_id in ("101", "204", "1001", "1004", "1005"):
        columns[field_id] = [round(rng.uniform(0.5, 1.0), 6) for _ in one]
    return columns


def cpu_seconds(work: Callable[[bytes], object], raw: Sequence[bytes]) -> float:
    """CPU time of this process."""
    before = time.process_time()
    for message in raw:
        work(message)
    return time.process_time() - before


def measure(load: Load) -> Iterator[str]:
    """Two lines: decoding alone, and decoding with all detectors."""
    bank, findings = Bank(detectors()), 0

    def judge(raw: bytes) -> None:
        nonlocal findings
        message: Message = GPU_SCRAPES.decode(raw)
        findings += len(bank.feed(GPU_SCRAPES, message))

    for raw in load.raw[: len(load.raw) // 10]:
        GPU_SCRAPES.decode(raw)
    floor = cpu_seconds(GPU_SCRAPES.decode, load.raw)
    whole = cpu_seconds(judge, load.raw)
    count = len(load.raw)
    yield _line(load, "decode alone (the floor)", floor, count)
    extra = (whole - floor) / count * 1e6
    yield _line(load, "decode + all detectors", whole, count) + f"   detectors {extra:.1f} us, {findings} findings"


def _line(load: Load, what: str, seconds: float, count: int) -> str:
    per_message = seconds / count * 1e6
    return (
        f"{load.name:<22} {what:<26} {load.samples / seconds / 1e6:7.2f} M samples/CPU-s {per_message:7.1f} us/message"
    )


def main(argv: Sequence[str] = ()) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=60)
    args = parser.parse_args(argv)
    for name, sick in (("healthy", 0.0), ("1 node in 20 is sick", 0.05)):
        messages = list(scrapes(args.nodes, args.rounds, sick))
        samples = sum(len(column) for m in messages for column in m.columns.values())
        for line in measure(Load(name, [GPU_SCRAPES.encode(m) for m in messages], samples)):
            sys.stdout.write(line + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
