"""A loader as a process of its own, and what the tests put into Kafka for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import StepReport
from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import GPU_SCRAPES, JOB_STEPS, KERNEL_EVENTS
from warehouse.settings import WarehouseSettings

START_US = 1_780_000_000_000_000


def environment(state: Path, bootstrap: str) -> dict[str, str]:
    """What a loader of the test reads."""
    return {**os.environ, "LOCKSTEP_STATE": str(state), "LOCKSTEP_KAFKA": bootstrap}


def settings(state: Path) -> WarehouseSettings:
    """The same warehouse, for `connect`."""
    return WarehouseSettings(state=str(state))


def command(*words: str) -> list[str]:
    """`lockstep ...` of this checkout."""
    return [sys.executable, "-m", "infra.command.main", *words]


@contextmanager
def loader(state: Path, bootstrap: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """`lockstep load`, ended with -9 when the block is left and it still runs."""
    process = subprocess.Popen(
        command("load", *words), env=environment(state, bootstrap), stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stderr:
            process.stderr.close()


def wait_for_commit(process: "subprocess.Popen[str]") -> None:
    """Until the loader has told of a commit."""
    assert process.stderr is not None
    for line in process.stderr:
        if " commits (" in line:
            return
    raise AssertionError("the loader ended without a commit")


def load_to_the_end(state: Path, bootstrap: str) -> str:
    """`lockstep load --once`; what it told."""
    done = subprocess.run(
        command("load", "--once"),
        env=environment(state, bootstrap),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def produce(producer: Producer, number: int) -> None:
    """One message to each of three topics; `number` stands in all of their rows."""
    ts_us = START_US + number * 1_000_000
    node = f"node{number % 7}"
    scrape = GpuScrape(
        node=node,
        ts_us=ts_us,
        gpus=[Gpu(uuid=f"GPU-{node}-{i}", index=i) for i in range(2)],
        columns={"156": [float(number), float(number)], "150": [50.0, None]},
    )
    event = KernelEvent(node=node, ts_us=ts_us, kind="xid", code=13, detail=str(number))
    report = StepReport(
        job="train", node=node, ts_us=ts_us, rank=[0, 1], step=[number, number], phase=["train", "train"]
    )
    producer.produce(GPU_SCRAPES.name, key=GPU_SCRAPES.key(scrape), value=GPU_SCRAPES.encode(scrape))
    producer.produce(KERNEL_EVENTS.name, key=KERNEL_EVENTS.key(event), value=KERNEL_EVENTS.encode(event))
    producer.produce(JOB_STEPS.name, key=JOB_STEPS.key(report), value=JOB_STEPS.encode(report))
    producer.poll(0)
