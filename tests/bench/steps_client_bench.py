"""What one step costs a rank: `python -m tests.bench.steps_client_bench [--turns N] [--steps N]`.

In one run, with a collector that listens in its own process, without one, and the floor, a bare `socket.send` of the
same bytes to the same socket. The sides take turns, so that what else the machine does weighs on all alike. A turn
is a pause, as training has, one call by itself (cold: caches hold the model's work) and then five in a row (warm).
GPU timers are stand-ins that cost nothing themselves: what they add on a real GPU is two `Event.record()` a span.
Then, by tracemalloc, what is left of many steps, with a collector and without one.
"""

import argparse
import multiprocessing
import socket
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from collectors.steps.client import Run
from collectors.steps.client_loop import Loop
from collectors.steps.listener import Listener

TURNS = 1000
STEPS = 100_000
PAUSE_S = 0.002
ROW = 5
"""The kernel may hold as few as ten datagrams (net.unix.max_dgram_qlen)."""


def collect(path: Path, pipe: Connection) -> None:
    """The collector's side: take datagrams off the socket until told to stop; answer with the last step."""
    listener = Listener(path, 0o600, "bench", lambda: None)
    pipe.send(b"")
    pipe.recv()
    listener.close()
    pipe.send(next(raw for raw in reversed(listener.take()[0]) if b'"step_s"' in raw))


def whole_step(run: Run, step: int) -> None:
    """What a training loop does: a step with four timed parts."""
    with run.step(step) as s:
        with s.data():
            pass
        with s.compute():
            pass
        with s.wait():
            pass
        with s.compute():
            pass
        s.tokens = 8192


def in_a_phase(run: Run, step: int) -> None:
    """A step of an evaluation."""
    with run.phase("eval"):
        whole_step(run, step)


def by_callback(loop: Loop, step: int) -> None:
    """What a framework's callback does in a step."""
    loop.begin(step)
    loop.rest()
    loop.work()
    loop.end(step, 8192)


class FreeEvent:
    """A GPU timer that has always passed."""

    def record(self) -> None:
        """Nothing to do."""

    def query(self) -> bool:
        """It has."""
        return True

    def elapsed_time(self, _: "FreeEvent") -> float:
        """Milliseconds."""
        return 1.0


def report_only(run: Run, step: int) -> None:
    """A framework that has its own timers."""
    run.report(step, step_s=1.25, compute_s=1.0, wait_s=0.2, data_s=0.05, tokens=8192)


def measure(turns: int, sides: dict[str, Callable[[int], object]]) -> dict[str, list[float]]:
    """Microseconds a call of each side, in turns; `NAME_cold` is the call after the pause."""
    spent: dict[str, list[float]] = {f"{name}{cold}": [] for name in sides for cold in ("", "_cold")}
    for turn in range(turns):
        for name, do in sides.items():
            time.sleep(PAUSE_S)
            began_ns = time.perf_counter_ns()
            do(turn)
            first_ns = time.perf_counter_ns()
            for _ in range(ROW):
                do(turn)
            spent[f"{name}_cold"].append((first_ns - began_ns) / 1000)
            spent[name].append((time.perf_counter_ns() - first_ns) / 1000 / ROW)
    return spent


def growth(run: Run, steps: int) -> int:
    """Bytes that so many steps leave behind, once everything that is made once is there."""
    for step in range(2000):
        whole_step(run, step)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for step in range(steps):
        whole_step(run, step)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return after - before


def main(argv: Sequence[str] = ()) -> None:
    """Measure and print microseconds a step, warm and after a pause, beside a bare send of the same bytes."""
    reader = argparse.ArgumentParser(prog="steps_client_bench")
    reader.add_argument("--turns", type=int, default=TURNS)
    reader.add_argument("--steps", type=int, default=STEPS, help="steps over which memory is watched")
    args = reader.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steps.sock"
        near, far = multiprocessing.get_context("spawn").Pipe()
        collector = multiprocessing.get_context("spawn").Process(target=collect, args=(path, far))
        collector.start()
        near.recv()
        bare = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        bare.connect(str(path))
        heard = Run("bench", 0, 8, path=str(path), env={})
        timed = Run("bench", 0, 8, path=str(path), env={}, event=FreeEvent)
        called = Loop(Run("bench", 0, 8, path=str(path), env={}), compute=True)
        alone = Run("bench", 0, 8, path=str(path) + ".nobody", env={})
        sample = b"x" * 260
        spent = measure(
            args.turns,
            {
                "floor": lambda _: bare.send(sample),
                "step": lambda step: whole_step(heard, step),
                "step_in_a_phase": lambda step: in_a_phase(heard, step),
                "step_with_gpu_timers": lambda step: whole_step(timed, step),
                "step_by_callback": lambda step: by_callback(called, step),
                "report": lambda step: report_only(heard, step),
                "step_without_listener": lambda step: whole_step(alone, step),
            },
        )
        left = {name: growth(run, args.steps) for name, run in (("collector", timed), ("listener", alone))}
        near.send(b"stop")
        last = near.recv()
        collector.join()
    print(f"{args.turns} steps, {len(last)} bytes each, {heard.dropped} dropped; cold: the first call after a pause")
    for name, times in spent.items():
        floor = statistics.median(spent["floor_cold" if name.endswith("_cold") else "floor"])
        median = statistics.median(times)
        print(f"{name.replace('_', ' '):28} {median:6.1f} us a step  {median / floor:4.1f} x a bare send")
    print(
        f"{args.steps} steps left {left['collector']} bytes behind with a collector that may be slow and GPU timers, "
        f"{left['listener']} without a listener"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
