"""The local Kafka: says what is in the way, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.contract.errors import UserError
from infra.kafka.jars import class_path, locked
from infra.kafka.local import Broker, start, status


def test_the_lock_names_every_jar_once_with_its_checksum() -> None:
    jars = locked()
    assert len({jar.filename for jar in jars}) == len(jars) == 45
    assert {len(jar.sha256) for jar in jars} == {64}


def test_absent_jars_are_told_with_the_command_that_brings_them(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"45 of 45 absent\): run `make setup`"):
        class_path(tmp_path)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} of 127.0.0.1 is in use"):
            start(tmp_path, port=port)
    assert status(tmp_path) is None


@pytest.mark.kafka
def test_a_second_broker_in_one_folder_is_refused(kafka: Broker) -> None:
    with pytest.raises(UserError, match=f"a Kafka already runs in .*pid {kafka.pid} at {kafka.bootstrap}"):
        start(kafka.folder)


@pytest.mark.kafka
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_broker_does_not_outlive_its_block(tmp_path: Path, how: signal.Signals) -> None:
    block = (
        "import sys, threading\nfrom pathlib import Path\nfrom infra.kafka.local import running_kafka\n"
        "with running_kafka(Path(sys.argv[1])) as broker:\n"
        "    print(broker.pid, flush=True)\n    threading.Event().wait()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", block, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.send_signal(how)
    process.wait(30)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
