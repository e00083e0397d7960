"""How fast a training log is read: `python -m tests.bench.training_log_bench [--seconds N]`.

Lines a CPU-second, of steps and of what frameworks print besides, beside the floor in the same run: a script that looks
for `iteration N/` with one regular expression and takes one number out of it.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path

from collectors.training_log.intake import Intake
from collectors.training_log.log import TrainingLog
from tests.collectors.list_outlet import ListOutlet

LOGS = Path(__file__).parents[1] / "collectors" / "training_logs"
LINES = 2000
SECONDS = 1.0
_ITERATION = re.compile(r"iteration\s+(\d+)/.*elapsed time per iteration \(ms\): ([\d.]+)")
MEGATRON = (
    " [2026-05-05 06:{:02}:{:02}.000000] iteration {:8}/  100000 | consumed samples:     26112 |"
    " elapsed time per iteration (ms): 1000.0 | throughput per GPU (TFLOP/s/GPU): 380.5 |"
    " learning rate: 4.800000E-05 | global batch size:   256 |"
    " lm loss: 9.123456E+00 | loss scale: 1.0 | grad norm: 2.345 | number of skipped iterations:   0 |"
)
NOISE = "INFO:megatron.core.datasets: building the index of document {} of the blended dataset, which takes a while"


def ours(lines: list[bytes]) -> int:
    """Rows that come out."""
    outlet = ListOutlet()
    intake = Intake(TrainingLog(cluster="c", job="j", this_node="n", zone=UTC), outlet, "c", "j", "bench")
    for line in lines:
        intake.line(line)
    intake.rest()
    intake.flush()
    return intake.steps


def floor(lines: list[bytes]) -> int:
    """Steps that a plain script finds."""
    found = 0
    for line in lines:
        match = _ITERATION.search(line.decode())
        if match is not None and float(match[2]) > 0:
            found += 1
    return found


def rate(read: Callable[[list[bytes]], int], lines: list[bytes], seconds: float) -> float:
    """Lines a CPU-second."""
    done, began_s = 0, time.process_time()
    while (spent_s := time.process_time() - began_s) < seconds:
        read(lines)
        done += len(lines)
    return done / spent_s


def main(argv: Sequence[str] = ()) -> None:
    """Print the table."""
    reader = argparse.ArgumentParser(prog="training_log_bench")
    reader.add_argument("--seconds", type=float, default=SECONDS, help="CPU time for each side (default %(default)g)")
    args = reader.parse_args(argv)
    megatron = [MEGATRON.format(n // 60 % 60, n % 60, n).encode() for n in range(LINES)]
    kinds = {
        "steps of Megatron": megatron,
        "what it prints besides": [NOISE.format(n).encode() for n in range(LINES)],
        "one step in twenty lines": [megatron[n] if n % 20 == 0 else NOISE.format(n).encode() for n in range(LINES)],
        "torchtitan, colours": (LOGS / "torchtitan.txt").read_bytes().split(b"\n"),
        "bars of Lightning": (LOGS / "lightning.txt").read_bytes().split(b"\n"),
    }
    print(f"{'lines a CPU-second':28} {'lockstep':>10} {'a plain script':>15}  ratio")
    for name, lines in kinds.items():
        mine, bare = rate(ours, lines, args.seconds), rate(floor, lines, args.seconds)
        print(f"{name:28} {mine:10,.0f} {bare:15,.0f}  {mine / bare:.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
