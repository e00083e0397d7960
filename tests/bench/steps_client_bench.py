"""What one step costs a rank: `python -m tests.bench.steps_client_bench [--turns N]`.

In one run, with a collector that listens in its own process, without one, and the floor, a bare `socket.send` of the
same bytes to the same socket. The sides take turns, so that what else the machine does weighs on all alike. A turn
is a pause, as training has, one call by itself (cold: caches hold the model's work) and then five in a row (warm).
"""

import multiprocessing
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from collectors.steps.client import Run
from collectors.steps.listener import Listener

TURNS = 1000
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


def main(turns: int = TURNS) -> None:
    """Measure and print microseconds a step, warm and after a pause, beside a bare send of the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steps.sock"
        near, far = multiprocessing.get_context("spawn").Pipe()
        collector = multiprocessing.get_context("spawn").Process(target=collect, args=(path, far))
        collector.start()
        near.recv()
        bare = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        bare.connect(str(path))
        heard = Run("bench", 0, 8, path=str(path), env={})
        alone = Run("bench", 0, 8, path=str(path) + ".nobody", env={})
        sample = b"x" * 260
        spent = measure(
            turns,
            {
                "floor": lambda _: bare.send(sample),
                "step": lambda step: whole_step(heard, step),
                "report": lambda step: report_only(heard, step),
                "step_without_listener": lambda step: whole_step(alone, step),
            },
        )
        near.send(b"stop")
        last = near.recv()
        collector.join()
    print(f"{turns} steps, {len(last)} bytes each, {heard.dropped} dropped; cold: the first call after a pause")
    for name, times in spent.items():
        floor = statistics.median(spent["floor_cold" if name.endswith("_cold") else "floor"])
        median = statistics.median(times)
        print(f"{name.replace('_', ' '):28} {median:6.1f} us a step  {median / floor:4.1f} x a bare send")


if __name__ == "__main__":
    main()
