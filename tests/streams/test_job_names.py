"""A job under its own name and its scheduler's is one job: from the training client, over its socket, to the world."""

import time
from itertools import permutations
from pathlib import Path

import pytest

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement
from collectors.contract.message import Message
from collectors.contract.topics import JOB_EVENTS
from collectors.steps.client import Run
from collectors.steps.intake import Intake
from collectors.steps.listener import Listener
from streams.world import World
from tests.collectors.list_outlet import ListOutlet


def told_by_two_nodes(folder: Path, env: dict[str, str]) -> list[JobEvent]:
    """What the collector of the first node makes of a job with a rank on each, which it gathered."""
    listener = Listener(folder / "s", 0o600, "n1", lambda: None)
    outlet = ListOutlet()
    with Run("llm", rank=0, world_size=2, path=str(folder / "s"), env=env | {"POD_NAME": "bert-0"}) as run:
        other = Run("llm", rank=1, world_size=2, path="", env=env | {"POD_NAME": "bert-1", "LOCKSTEP_NODE": "n2"})
        run.place([run.here(), other.here()])
    listener.close()
    intake = Intake("default", "n1", "s", outlet, lambda: time.time_ns() // 1000)
    intake.take(*listener.take())
    assert outlet.rejected == []
    return [event for event in outlet.of(JOB_EVENTS) if event.kind in ("started", "placed")]


def world(*messages: Message) -> World:
    out = World()
    for message in messages:
        out.learn(message)
    return out


@pytest.mark.parametrize(
    ("env", "source", "name", "aliases"),
    [
        ({"SLURM_JOB_ID": "4711"}, "slurm", "4711", []),
        ({"SLURM_JOB_ID": "4712", "SLURM_ARRAY_JOB_ID": "4700", "SLURM_ARRAY_TASK_ID": "12"}, "slurm", "4712", []),
        ({"SLURM_ARRAY_JOB_ID": "4700", "SLURM_ARRAY_TASK_ID": "12"}, "slurm", "4712", ["4700_12"]),
        ({"POD_NAMESPACE": "ml"}, "kubernetes", "ml/bert", ["ml/bert-0", "ml/bert-1"]),
    ],
)
def test_a_job_that_runs_under_another_name_is_one_job(
    env: dict[str, str], source: str, name: str, aliases: list[str], tmp_path: Path
) -> None:
    own = told_by_two_nodes(tmp_path, env)
    start, place = own
    begun_us = start.ts_us
    given = JobEvent(
        ts_us=begun_us - 1000,
        job=name,
        kind="placed",
        source=source,  # type: ignore[arg-type]
        aliases=aliases,
        placement=[Placement(rank=-1, node="n1", gpu_index=0), Placement(rank=-2, node="n2", gpu_index=0)],
    )
    seen = GpuScrape(node="n2", ts_us=begun_us, gpus=[Gpu(uuid="G", index=0, hpc_job=name)])
    for order in permutations((start, place, given, seen)):
        told = world(*order)
        assert told.jobs_on_gpu("default", "G") == told.jobs_on_node("default", "n2") == {"llm"}
    end = JobEvent(ts_us=begun_us + 60_000_000, job=name, kind="ended", state="node_fail", source=source)  # type: ignore[arg-type]
    for order in permutations((start, place, given, end)):
        assert not world(*order).is_running("default", "llm")
