"""Page to Kafka, samples per CPU-second, beside Debian's `prometheus` on the same pages in the same run."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from collectors.contract.kafka import KafkaClient
from collectors.contract.topics import COLLECTOR_TOPICS
from infra.kafka.local import running_kafka
from infra.topics import admin_client, create
from tests.bench.pages import SAMPLES

PAGES = 200
INTERVAL_S = 1
WARM_SWEEPS = 5
SWEEPS = 30


@dataclass(frozen=True, slots=True)
class Measured:
    """What one reader did between two moments."""

    samples: int
    cpu_s: float

    @property
    def per_cpu_s(self) -> float:
        """Samples per CPU-second."""
        return self.samples / self.cpu_s


def cpu_s(pid: int) -> float:
    """User and system time of a process with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def process(command: list[str], log: Path, **env: str) -> Iterator["subprocess.Popen[str]"]:
    """Ended with the block."""
    with log.open("w") as told:
        running = subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=told, text=True)
    try:
        yield running
    finally:
        running.terminate()
        running.wait()


def measure(pid: int, served: Callable[[], int]) -> Measured:
    """Over `SWEEPS` sweeps, after `WARM_SWEEPS`. Raises `RuntimeError` where the pages are not fetched."""
    wait(lambda: served() >= PAGES * WARM_SWEEPS)
    first, began = served(), cpu_s(pid)
    wait(lambda: served() >= first + PAGES * SWEEPS)
    return Measured((served() - first) * SAMPLES, cpu_s(pid) - began)


def wait(so: Callable[[], bool]) -> None:
    """Look ten times a second."""
    end = time.monotonic() + 4 * INTERVAL_S * SWEEPS + 60
    while not so():
        if time.monotonic() > end:
            raise RuntimeError("the pages are not fetched")
        time.sleep(0.1)


def lockstep(folder: Path, port: int, bootstrap: str, served: Callable[[], int]) -> Measured:
    """`lockstep collect dcgm` into a real Kafka."""
    groups = [{"targets": [f"127.0.0.1:{port}"], "labels": {"__metrics_path__": f"/l/{n}"}} for n in range(PAGES)]
    targets = folder / "targets.json"
    targets.write_text(json.dumps(groups))
    command = [sys.executable, "-m", "infra.command.main", "collect", "dcgm", "--targets", str(targets)]
    command += ["--interval", str(INTERVAL_S), "--metrics-listen", "off"]
    env = {"LOCKSTEP_KAFKA": bootstrap, "LOCKSTEP_STATE": str(folder / "state")}
    with process(command, folder / "lockstep.log", **env) as running:
        return measure(running.pid, served)


def prometheus(folder: Path, binary: str, port: int, served: Callable[[], int]) -> Measured:
    """Prometheus with its defaults, storing what it scrapes."""
    config = {
        "global": {"scrape_interval": f"{INTERVAL_S}s"},
        "scrape_configs": [
            {
                "job_name": "gpu",
                "static_configs": [
                    {"targets": [f"127.0.0.1:{port}"], "labels": {"__metrics_path__": f"/p/{n}"}} for n in range(PAGES)
                ],
            }
        ],
    }
    # JSON is YAML.
    (folder / "prometheus.yml").write_text(json.dumps(config))
    command = [binary, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
    command += ["--web.listen-address=127.0.0.1:0"]
    with process(command, folder / "prometheus.log") as running:
        return measure(running.pid, served)


def main() -> None:
    """Print the table."""
    folder = Path(tempfile.mkdtemp(prefix="lockstep-bench-"))
    binary = shutil.which("prometheus")
    server = [sys.executable, "-m", "tests.bench.pages", str(PAGES)]
    try:
        with running_kafka(folder / "kafka") as broker, process(server, folder / "pages.log") as pages:
            assert pages.stdout is not None
            port = int(pages.stdout.readline())
            create(admin_client(KafkaClient(broker.bootstrap)), COLLECTOR_TOPICS)

            def served(who: str) -> Callable[[], int]:
                url = f"http://127.0.0.1:{port}/count/{who}"
                return lambda: int(urllib.request.urlopen(url, timeout=10).read())

            print(
                f"{PAGES} pages x {SAMPLES} samples, k8s labels, {SWEEPS} sweeps of {INTERVAL_S} s after {WARM_SWEEPS}"
            )
            ours = lockstep(folder, port, broker.bootstrap, served("l"))
            show("lockstep collect dcgm -> Kafka", ours)
            if binary is None:
                print("prometheus is not installed: no comparison")
                return
            theirs = prometheus(folder, binary, port, served("p"))
            show("prometheus", theirs)
            print(f"{'ratio':<32}{ours.per_cpu_s / theirs.per_cpu_s:>12.2f} x  (aim 2.5)")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def show(name: str, measured: Measured) -> None:
    """One line."""
    print(
        f"{name:<32}{measured.per_cpu_s:>12,.0f} samples per CPU-second"
        f"  ({measured.samples:,} samples, {measured.cpu_s:.2f} CPU-s)",
        flush=True,
    )


if __name__ == "__main__":
    main()
