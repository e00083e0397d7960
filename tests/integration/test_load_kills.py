"""Rows and offsets commit together: a loader killed at any moment loses nothing and doubles nothing."""

import random
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer

from collectors.contract.kafka import KafkaClient
from infra.kafka.local import running_kafka
from infra.topics import ALL_TOPICS, admin_client, create
from tests.integration.loader_process import (
    command,
    environment,
    load_to_the_end,
    loader,
    produce,
    settings,
    wait_for_commit,
)
from warehouse.opening import connect

pytestmark = pytest.mark.kafka

KILLS = 20
RATE_HZ = 100
QUICK = ("--commit-seconds", "0.1", "--progress-seconds", "0.1")


class Feeding(threading.Thread):
    """Puts numbered messages into Kafka until it is told to end."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self.producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20})
        self.ended = threading.Event()
        self.sent = 0

    def run(self) -> None:
        while not self.ended.wait(1 / RATE_HZ):
            produce(self.producer, self.sent)
            self.sent += 1
        self.producer.flush()


class Asking(threading.Thread):
    """Queries the warehouse while it is written: `lockstep sql` and a session that stays open."""

    def __init__(self, state: Path, bootstrap: str) -> None:
        super().__init__()
        self.state, self.bootstrap = state, bootstrap
        self.ended = threading.Event()
        self.answers: list[int] = []
        self.wrong: list[str] = []

    def run(self) -> None:
        with connect(settings=settings(self.state)) as session:
            while not self.ended.is_set():
                asked = subprocess.run(
                    command("sql", "--format", "csv", "select count(*) from gpu_health"),
                    env=environment(self.state, self.bootstrap),
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if asked.returncode != 0:
                    self.wrong.append(asked.stderr)
                else:
                    self.answers.append(int(asked.stdout.split()[1]))
                rows, numbers = session.execute(
                    "select count(*), count(distinct (energy_mj, gpu_uuid)) from gpu_scrapes"
                ).fetchall()[0]
                if rows != numbers:
                    self.wrong.append(f"{rows} rows of {numbers} numbers")


def test_a_loader_killed_twenty_times_loses_nothing_and_doubles_nothing_while_readers_read(
    tmp_path: Path,
) -> None:
    moments = random.Random(20)
    state = tmp_path / "state"
    with running_kafka(tmp_path / "kafka") as broker:
        create(admin_client(KafkaClient(broker.bootstrap)), ALL_TOPICS)
        connect(read_only=False, settings=settings(state)).close()
        feeding, asking = Feeding(broker.bootstrap), Asking(state, broker.bootstrap)
        feeding.start()
        asking.start()
        try:
            for life in range(KILLS):
                with loader(state, broker.bootstrap, *QUICK) as process:
                    if life % 4:
                        wait_for_commit(process)
                    with pytest.raises(subprocess.TimeoutExpired):
                        process.wait(moments.uniform(0.0, 1.5))
                    process.send_signal(signal.SIGKILL)
                    assert process.wait() == -signal.SIGKILL
        finally:
            feeding.ended.set()
            asking.ended.set()
            feeding.join()
            asking.join()
        load_to_the_end(state, broker.bootstrap)
    expected = set(range(feeding.sent))
    with connect(settings=settings(state)) as session:
        gpus = session.execute("select energy_mj, gpu_uuid from gpu_scrapes").fetchall()
        events = session.execute("select detail::BIGINT from kernel_events").fetchall()
        steps = session.execute("select step, rank from rank_steps").fetchall()
    assert (len(gpus), {number for number, _ in gpus}) == (2 * len(expected), expected)
    assert (len(set(gpus)), len(set(steps))) == (len(gpus), len(steps))
    assert (len(steps), {step for step, _ in steps}) == (2 * len(expected), expected)
    assert (len(events), {number for (number,) in events}) == (len(expected), expected)
    assert asking.wrong == []
    assert asking.answers == sorted(asking.answers)
    assert asking.answers[-1] > 0
