"""Cores that the straggler detector needs, from message bytes to findings: `python -m tests.bench.straggler_bench`.

One job whose nodes report a step of 8 ranks each, all columns told, decoded and judged; beside it the floor, decoding
alone, in the same run. Cores = CPU-seconds by seconds of event time. No Kafka. `--soak` counts false findings instead.
"""

import argparse
import math
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence

from collectors.contract.job import Coords, JobEvent, Placement, StepReport
from collectors.contract.topics import JOB_STEPS
from streams.detectors.straggler import StragglerDetector
from streams.detectors.straggler_state import StragglerState

RANKS = 8
START_US = 1_800_000_000_000_000
COMPUTE_S = 4.0


def reports(
    nodes: int, steps: int, sigma: float, step_s: float, first: int = 0, microbatches: int = 0
) -> Iterator[StepReport]:
    """Healthy steps in the order of their times: log-normal compute, host times, transfers."""
    rng = random.Random(first + 1)

    def times(of_step_s: float) -> list[list[float] | None]:
        mean_s = of_step_s / max(1, microbatches)
        return [[round(mean_s * math.exp(rng.gauss(0.0, 0.3)), 6) for _ in range(microbatches)] for _ in range(RANKS)]

    for step in range(first, first + steps):
        for node in range(nodes):
            compute: list[float | None] = [COMPUTE_S * math.exp(rng.gauss(0.0, sigma)) for _ in range(RANKS)]
            ranks = list(range(node * RANKS, (node + 1) * RANKS))
            yield StepReport(
                cluster="bench",
                ts_us=START_US + int(step * step_s * 1e6) + node,
                job="pretrain",
                node=f"node-{node:04}",
                rank=ranks,
                step=[step] * RANKS,
                phase=["train"] * RANKS,
                step_s=[step_s] * RANKS,
                compute_s=compute,
                wait_s=[0.5] * RANKS,
                transfer_s=[0.3 * math.exp(rng.gauss(0.0, 0.03)) for _ in ranks],
                data_s=[0.05 * math.exp(rng.gauss(0.0, 0.2)) for _ in ranks],
                cpu_s=[0.4 * math.exp(rng.gauss(0.0, 0.02)) for _ in ranks],
                tokens=[8192] * RANKS,
                sum_sq_len=[8192 * 4096] * RANKS,
                global_batch_size=[1024] * RANKS,
                config_hash="9f2c51d07ab3e468",
                microbatch_forward_s=times(COMPUTE_S / 3) if microbatches else [],
                microbatch_backward_s=times(COMPUTE_S * 2 / 3) if microbatches else [],
            )


def placed(nodes: int, tp: int) -> JobEvent:
    """Tensor parallelism inside each node, data parallelism between them."""
    return JobEvent(
        cluster="bench",
        ts_us=START_US - 1,
        job="pretrain",
        kind="placed",
        placement=[
            Placement(
                rank=rank,
                node=f"node-{rank // RANKS:04}",
                gpu_uuid=f"GPU-{rank:08x}",
                gpu_model="NVIDIA H100 80GB HBM3",
                coords=Coords(tp=rank % tp, dp=rank // tp),
            )
            for rank in range(nodes * RANKS)
        ],
    )


def measure(nodes: int, steps: int, sigma: float, step_s: float, tp: int, microbatches: int = 0) -> str:
    """One line; the past is filled first, so that what is timed is a long-running job."""
    detector = StragglerDetector()
    state: StragglerState = detector.fresh()
    if tp > 1:
        state, _ = detector.step(state, [placed(nodes, tp)])
    past = 100
    for report in reports(nodes, past, sigma, step_s):
        state, _ = detector.step(state, [report])
    raw = [JOB_STEPS.encode(report) for report in reports(nodes, steps, sigma, step_s, past, microbatches)]
    before = time.process_time()
    for message in raw:
        JOB_STEPS.decode(message)
    floor = time.process_time() - before
    findings = 0
    before = time.process_time()
    for message in raw:
        state, found = detector.step(state, [JOB_STEPS.decode(message)])
        findings += len(found)
    whole = time.process_time() - before
    event_s = steps * step_s
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    groups = f"{tp} groups of {nodes * RANKS // tp}" if tp > 1 else "one group"
    return (
        f"{nodes * RANKS:6} ranks, {groups:<17} sigma {sigma:.2f}   decode alone (floor) {floor / event_s:.4f} cores   "
        f"decode + detector {whole / event_s:.4f} cores   {whole / len(raw) * 1e6:.0f} us/message   "
        f"{findings} findings   {memory:.0f} MiB at most"
    )


def soak(nodes: int, steps: int, sigma: float) -> str:
    """Steps of noise alone: how many findings."""
    detector = StragglerDetector()
    state = detector.fresh()
    told: dict[str, int] = {}
    before = time.process_time()
    for report in reports(nodes, steps, sigma, 5.0):
        state, found = detector.step(state, [report])
        for finding in found:
            name = f"{finding.cause} ({finding.severity})"
            told[name] = told.get(name, 0) + 1
    spent = time.process_time() - before
    said = ", ".join(f"{count} {name}" for name, count in sorted(told.items())) or "none"
    return f"{nodes * RANKS} ranks x {steps} steps, sigma {sigma:.2f}: findings {said}   ({spent:.0f} CPU-s)"


def main(argv: Sequence[str] = ()) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1250)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--step-s", type=float, default=5.0)
    parser.add_argument("--microbatches", type=int, default=0, help="of each step, forward and backward timed")
    parser.add_argument("--soak", type=int, metavar="STEPS", help="count findings of 64 ranks over so many steps")
    args = parser.parse_args(argv)
    if args.soak:
        for sigma in (0.01, 0.05, 0.10, 0.15):
            sys.stdout.write(soak(8, args.soak, sigma) + "\n")
        return 0
    for sigma, tp in ((0.01, 8), (0.12, 8), (0.12, 1)):
        sys.stdout.write(measure(args.nodes, args.steps, sigma, args.step_s, tp, args.microbatches) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
