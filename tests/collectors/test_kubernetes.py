"""Pods as placements: the job above them, its nodes and GPUs, and how it ended."""

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.job import Placement
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import JOB_EVENTS, JOB_PLACEMENTS
from collectors.kubernetes import source
from collectors.kubernetes.listing import PodsError, read_list
from collectors.kubernetes.pods import gpus_of, job_of, read_pods
from collectors.placement.listing import Ended, Held
from collectors.source import SourceError
from tests.collectors.kubernetes_api import api_server, only_at
from tests.collectors.kubernetes_pods import END, START, pod
from tests.collectors.list_outlet import ListOutlet

START_US, END_US = 1_767_348_000_000_000, 1_767_351_600_000_000
PODS = "/api/v1/pods"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    yield tmp_path
    kafka_settings.cache_clear()


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--interval", type=float, default=0.01)
    source.add_arguments(parser)
    return parser.parse_args(words)


JOBS = {
    "ml/bert": [
        pod("bert-w-0", labels={"training.kubeflow.org/job-name": "bert"}, owner=("PyTorchJob", "other")),
        pod("bert-w-1", labels={"jobset.sigs.k8s.io/jobset-name": "bert", "job-name": "bert-workers-0"}),
        pod("bert-abc12", owner=("Job", "bert")),
    ],
    "ml/bert-0": [pod("bert-0"), pod("bert-0", owner=("StatefulSet", "bert"))],
}


def test_a_pods_job_is_what_owns_it() -> None:
    assert {job: [job_of(one) for one in pods] for job, pods in JOBS.items()} == {
        "ml/bert": ["ml/bert"] * 3,
        "ml/bert-0": ["ml/bert-0"] * 2,
    }


def test_gpus_are_those_in_the_limits_of_what_runs_beside_each_other() -> None:
    several = pod("a", gpus=4)
    several["spec"]["containers"].append({"resources": {"limits": {"nvidia.com/mig-1g.10gb": "2"}}})
    several["spec"]["initContainers"] = [
        {"resources": {"limits": {"nvidia.com/gpu": "8"}}},
        {"restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": 1}}},
    ]
    assert gpus_of(several) == 7
    odd = pod("b")
    odd["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "99999999"
    assert gpus_of(odd) == 0


def test_the_pods_of_a_job_are_one_placement_with_a_row_a_gpu() -> None:
    labels = {"training.kubeflow.org/job-name": "bert"}
    (held,) = read_pods(
        [pod("bert-1", gpus=1, node="gpu-2", labels=labels), pod("bert-0", gpus=2, labels=labels), pod("web", gpus=0)]
    ).held
    assert held == Held(
        job="ml/bert",
        attempt=0,
        since_us=START_US,
        placement=(
            Placement(rank=-1, node="gpu-1", pod="ml/bert-0"),
            Placement(rank=-2, node="gpu-1", pod="ml/bert-0"),
            Placement(rank=-3, node="gpu-2", pod="ml/bert-1"),
        ),
        aliases=("ml/bert-0", "ml/bert-1"),
    )


def test_pods_that_wait_hold_nothing() -> None:
    assert read_pods([pod("a", phase="Pending"), pod("b", node="")]).held == ()


ENDS = {
    "all of it is done": ([pod("a-0", phase="Succeeded"), pod("a-1", phase="Succeeded")], ("completed", None)),
    "one failed": (
        [pod("a-0", phase="Succeeded"), pod("a-1", phase="Failed", code=137)],
        ("failed", "Error 137"),
    ),
    "evicted": (
        [pod("a-0", phase="Failed", code=1, reason="Evicted")],
        ("failed", "Evicted"),
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_how_a_job_ended_is_told_by_its_pods(name: str) -> None:
    pods, (word, reason) = ENDS[name]
    for one in pods:
        one["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "a", "controller": True}]
    assert read_pods(pods).ended == (Ended(job="ml/a", attempt=0, ts_us=END_US, state=word, reason=reason),)


def test_a_job_with_a_pod_that_still_runs_has_not_ended() -> None:
    owner = ("Job", "a")
    listing = read_pods([pod("a-0", phase="Failed", code=1, owner=owner), pod("a-1", owner=owner)])
    assert (len(listing.held), listing.ended) == (1, ())


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"items": 1}', b"[" * 100_000])
def test_what_is_no_list_of_pods_is_said(raw: bytes) -> None:
    with pytest.raises(PodsError):
        read_list(raw)


def test_a_file_of_kubectl_is_read_once(state: Path) -> None:
    file = state / "pods.json"
    file.write_text(json.dumps({"kind": "List", "items": [pod("a"), pod("b", phase="Succeeded")]}))
    outlet = ListOutlet()
    assert source.once(options("--file", str(file)), outlet) == 2
    assert [e.job for e in outlet.of(JOB_PLACEMENTS)] == ["ml/a"]
    assert [(e.job, e.state, e.source) for e in outlet.of(JOB_EVENTS)] == [("ml/b", "completed", "kubernetes")]


def test_all_pages_of_the_api_are_read_by_the_official_client(state: Path) -> None:
    asked: list[dict[str, str]] = []

    def pods(query: dict[str, str]) -> tuple[int, Any]:
        asked.append(query)
        if "continue" in query:
            return 200, {"items": [pod("b")], "metadata": {}}
        return 200, {"items": [pod("a")], "metadata": {"continue": "more"}}

    with api_server(only_at(PODS, pods), state) as kubeconfig:
        outlet = ListOutlet()
        source.once(options("--kubeconfig", str(kubeconfig), "--selector", "team=x"), outlet)
    assert [e.job for e in outlet.of(JOB_PLACEMENTS)] == ["ml/a", "ml/b"]
    assert [q.get("continue") for q in asked] == [None, "more"]
    assert {q["labelSelector"] for q in asked} == {"team=x"}


def test_a_beat_counts_the_bytes_of_all_pages(state: Path) -> None:
    pages = [{"items": [pod("a")], "metadata": {"continue": "more"}}, {"items": [pod("b")], "metadata": {}}]

    async def run(kubeconfig: Path, outlet: ListOutlet) -> None:
        serving = asyncio.create_task(source.serve(options("--kubeconfig", str(kubeconfig)), outlet))
        while len(outlet.beats) < 2:
            await asyncio.sleep(0.01)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    outlet = ListOutlet()
    with api_server(only_at(PODS, lambda query: (200, pages["continue" in query])), state) as kubeconfig:
        asyncio.run(asyncio.wait_for(run(kubeconfig, outlet), 30))
    assert {beat.bytes for beat in outlet.beats} == {sum(len(json.dumps(page)) for page in pages)}


def test_a_role_that_is_missing_is_named(state: Path) -> None:
    with api_server(only_at(PODS, lambda query: (403, {"kind": "Status"})), state) as kubeconfig:
        args = options("--kubeconfig", str(kubeconfig))
        with pytest.raises(SourceError, match=r"does not let us list pods .*role with list of pods in all namespaces"):
            source.once(args, ListOutlet())
        (sight,) = source.check(args)
    assert (sight.ok, sight.sees) == (False, "nothing")


def test_a_server_that_goes_away_ends_no_job(state: Path) -> None:
    status = 200

    def pods(query: dict[str, str]) -> tuple[int, Any]:
        return status, {"items": [pod("a")], "metadata": {}}

    async def run(kubeconfig: Path, outlet: ListOutlet) -> None:
        nonlocal status
        serving = asyncio.create_task(source.serve(options("--kubeconfig", str(kubeconfig)), outlet))
        while not outlet.beats:
            await asyncio.sleep(0.01)
        status = 500
        while not any(not beat.ok for beat in outlet.beats):
            await asyncio.sleep(0.01)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    outlet = ListOutlet()
    with api_server(only_at(PODS, pods), state) as kubeconfig:
        asyncio.run(asyncio.wait_for(run(kubeconfig, outlet), 30))
    assert len(outlet.of(JOB_PLACEMENTS)) == 1
    assert outlet.of(JOB_EVENTS) == []
    assert "HTTP status 500" in str(next(beat.error for beat in outlet.beats if not beat.ok))


def test_times_are_those_of_the_pods() -> None:
    assert (START, END) == ("2026-01-02T10:00:00Z", "2026-01-02T11:00:00Z")
    late = pod("a")
    late["status"]["startTime"] = "not a time"
    assert read_pods([late]).held == ()
