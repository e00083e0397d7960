"""Several workers on one machine: one process each, started again when one dies."""

import logging
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field

log = logging.getLogger("lockstep.stream")

GRACE_S = 20.0
USER_ERROR = 2


@dataclass(slots=True)
class Workers:
    """Children by worker number."""

    verbose: bool
    stop: threading.Event = field(default_factory=threading.Event)
    running: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, worker: int) -> None:
        """Start one; it has its own process and data folder."""
        command = [sys.executable, "-m", "streams.worker", str(worker)]
        self.running[worker] = subprocess.Popen([*command, *(["--verbose"] if self.verbose else [])])

    def end(self) -> None:
        """Ask all to stop, and kill those that do not."""
        for child in self.running.values():
            child.terminate()
        for child in self.running.values():
            try:
                child.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def run_workers(count: int, verbose: bool) -> int:
    """Run until SIGTERM or Ctrl-C; a worker that dies is started again after a pause that grows."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    workers = Workers(verbose)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: workers.stop.set())
    pause = dict.fromkeys(range(count), 1.0)
    try:
        for worker in range(count):
            workers.start(worker)
        while not workers.stop.wait(0.5):
            for worker, child in list(workers.running.items()):
                code = child.poll()
                if code is None:
                    continue
                if code == USER_ERROR:
                    return code
                log.warning("worker %d ended with status %d; starting it again in %.0f s", worker, code, pause[worker])
                if workers.stop.wait(pause[worker]):
                    break
                pause[worker] = min(pause[worker] * 2, 60.0)
                workers.start(worker)
        return 0
    finally:
        workers.end()
