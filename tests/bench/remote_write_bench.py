"""Pushed samples to Kafka, per CPU-second, beside Debian's `prometheus` receiving the same requests in the same run."""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import aiohttp

from collectors.contract.kafka import KafkaClient
from collectors.contract.topics import COLLECTOR_TOPICS
from collectors.remote_write.server import V2
from infra.kafka.local import running_kafka
from infra.kafka.process import free_port
from infra.topics import admin_client, create
from tests.bench.dcgm_bench import Measured, cpu_s, process, show
from tests.bench.pages import GPUS, SAMPLES, VERSIONS, names
from tests.collectors.remote_write_bodies import Sample, snappy, v1, v2

NODES = 200
NODES_A_REQUEST = 8
INTERVAL_MS = 15_000
AT_ONCE = 4
WARM = 2
"""Sweeps before the measured ones: the first of a target waits for the rest that does not come."""

TYPES = {
    "1.0": {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"},
    "2.0": {"Content-Type": f"application/x-protobuf;proto={V2}", "Content-Encoding": "snappy"},
}
MAKE: dict[str, Callable[[Iterable[Sample]], bytes]] = {"1.0": v1, "2.0": v2}


def samples(node: int, version: int, ts_ms: int) -> Iterable[Sample]:
    """One scrape of a node with Kubernetes labels."""
    for number, name in enumerate(names()):
        for gpu in range(GPUS):
            value = float(300 + number * 7 + gpu + version)
            labels = {
                "gpu": str(gpu),
                "UUID": f"GPU-{node:08x}-0000-4000-8000-{gpu:012d}",
                "pci_bus_id": f"00000000:{0x1A + gpu:02X}:00.0",
                "device": f"nvidia{gpu}",
                "modelName": "NVIDIA H100 80GB HBM3",
                "Hostname": f"node-{node:04d}",
                "DCGM_FI_DRIVER_VERSION": "570.124.06",
                "container": "train",
                "namespace": "team-a",
                "pod": f"llm-worker-{node}-{gpu}",
                "job": "dcgm",
                "instance": f"10.0.{node // 250}.{node % 250}:9400",
            }
            yield name, labels, value if number % 3 else value / 7, ts_ms


def varint(number: int) -> bytes:
    """As protobuf writes it."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


class Bodies:
    """Requests of one version of the protocol; only their times are made anew for each sweep."""

    def __init__(self, protocol: str, ts_ms: int) -> None:
        self._ts_ms = ts_ms
        self.headers = TYPES[protocol]
        self._made = [
            [
                MAKE[protocol](
                    one for node in range(first, first + NODES_A_REQUEST) for one in samples(node, version, ts_ms)
                )
                for first in range(0, NODES, NODES_A_REQUEST)
            ]
            for version in range(VERSIONS)
        ]

    def sweep(self, number: int) -> list[bytes]:
        """All requests of one sweep."""
        was, now = varint(self._ts_ms), varint(self._ts_ms + number * INTERVAL_MS)
        return [snappy(body.replace(b"\x10" + was, b"\x10" + now)) for body in self._made[number % VERSIONS]]


async def push(url: str, bodies: Bodies, sweeps: range, spent: Callable[[], float]) -> tuple[int, float]:
    """Samples that were acknowledged, and CPU-seconds of the receiver, over all sweeps but the warm ones."""
    gate = asyncio.Semaphore(AT_ONCE)
    began_s = 0.0
    async with aiohttp.ClientSession() as http:

        async def one(body: bytes) -> None:
            async with gate, http.post(url, data=body, headers=bodies.headers) as answer:
                if answer.status >= 300:
                    raise RuntimeError(f"{url}: {answer.status}: {await answer.text()}")

        for number in sweeps:
            if number == sweeps.start + WARM:
                await asyncio.sleep(8.0)
                began_s = spent()
            await asyncio.gather(*map(one, bodies.sweep(number)))
    return (len(sweeps) - WARM) * NODES * SAMPLES, spent() - began_s


def measure(url: str, bodies: Bodies, sweeps: range, pid: int) -> Measured:
    """Once it listens."""
    wait_for(url)
    return Measured(*asyncio.run(push(url, bodies, sweeps, lambda: cpu_s(pid))))


def wait_for(url: str) -> None:
    """Until somebody listens there."""
    import socket
    from urllib.parse import urlsplit

    port = urlsplit(url).port or 0
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def lockstep(folder: Path, bootstrap: str, protocol: str, sweeps: int) -> Measured:
    """`lockstep collect remote-write` into a real Kafka."""
    port = free_port()
    command = [sys.executable, "-m", "infra.command.main", "collect", "remote-write"]
    command += ["--listen", f"127.0.0.1:{port}", "--metrics-listen", "off"]
    env = {"LOCKSTEP_KAFKA": bootstrap, "LOCKSTEP_STATE": str(folder / "state")}
    bodies = Bodies(protocol, _begin(sweeps))
    with process(command, folder / "lockstep.log", **env) as running:
        return measure(f"http://127.0.0.1:{port}/api/v1/write", bodies, range(sweeps + WARM), running.pid)


def prometheus(folder: Path, binary: str, sweeps: int) -> Measured:
    """Prometheus with its defaults, storing what it receives."""
    port = free_port()
    (folder / "prometheus.yml").write_text("{}")
    command = [binary, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver"]
    bodies = Bodies("1.0", _begin(sweeps))
    with process(command, folder / "prometheus.log") as running:
        return measure(f"http://127.0.0.1:{port}/api/v1/write", bodies, range(sweeps + WARM), running.pid)


def _begin(sweeps: int) -> int:
    """So that the last sweep is now: Prometheus takes nothing from the future."""
    return int(time.time() * 1000) - (sweeps + WARM) * INTERVAL_MS


def main(argv: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=30)
    sweeps = parser.parse_args(argv or []).sweeps
    folder = Path(tempfile.mkdtemp(prefix="lockstep-bench-"))
    binary = shutil.which("prometheus")
    try:
        with running_kafka(folder / "kafka") as broker:
            create(admin_client(KafkaClient(broker.bootstrap)), COLLECTOR_TOPICS)
            print(f"{NODES} nodes x {SAMPLES} samples, {NODES_A_REQUEST} nodes a request, {sweeps} sweeps")
            ours = lockstep(folder, broker.bootstrap, "1.0", sweeps)
            show("remote write 1.0 -> Kafka", ours)
            show("remote write 2.0 -> Kafka", lockstep(folder, broker.bootstrap, "2.0", sweeps))
        if binary is None:
            print("prometheus is not installed: no comparison")
            return
        theirs = prometheus(folder, binary, sweeps)
        show("prometheus, 1.0", theirs)
        print(f"{'ratio':<32}{ours.per_cpu_s / theirs.per_cpu_s:>12.2f} x")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
