"""Pods with GPUs -> a listing: which job they belong to, on which node, how many GPUs each.

A pod's job is what owns it. Trainers and batch systems name it in a label (kubeflow trainer, JobSet, Ray, Volcano,
LeaderWorkerSet, batch/v1); else it is the pod's controller.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from collectors.contract.job import Placement
from collectors.kubernetes_api import inner, objects, text
from collectors.placement.listing import Ended, Held, Listing

JOB_LABELS = (
    "lockstep.dev/job",
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "leaderworkerset.sigs.k8s.io/name",
    "ray.io/cluster",
    "volcano.sh/job-name",
    "batch.kubernetes.io/job-name",
    "job-name",
)
"""The outermost first: a JobSet's pods carry the names of its Jobs too."""
ATTEMPT_LABELS = ("jobset.sigs.k8s.io/restart-attempt",)
RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")
MIG_RESOURCE = "nvidia.com/mig-"
MOST_GPUS = 1024
OVER = {"Succeeded": "completed", "Failed": "failed"}
GROUPED = ("ReplicaSet", "StatefulSet", "DaemonSet", "Node")
"""Controllers of services, not of jobs: a pod of one is a job of its own."""


def read_pods(pods: list[dict[str, Any]], *, complete: bool = True) -> Listing:
    """`pods` as the API lists them. Pods without GPUs are passed over."""
    running: dict[str, list[dict[str, Any]]] = {}
    over: dict[str, list[dict[str, Any]]] = {}
    unread: list[str] = []
    for pod in pods:
        meta, phase = inner(pod, "metadata"), inner(pod, "status").get("phase")
        if text(meta.get("name")) is None:
            unread.append("a pod without a name")
            continue
        if gpus_of(pod) == 0:
            continue
        job = job_of(pod)
        if phase in OVER:
            over.setdefault(job, []).append(pod)
        elif text(inner(pod, "spec").get("nodeName")) and phase == "Running":
            running.setdefault(job, []).append(pod)
    held = [one for job, members in running.items() if (one := _held(job, members)) is not None]
    ended = [_ended(job, members) for job, members in over.items() if job not in running]
    known = tuple(one for one in ended if one is not None)
    return Listing("kubernetes", tuple(held), known, complete and not unread, tuple(unread))


def job_of(pod: dict[str, Any]) -> str:
    """`namespace/name` of the job that a pod belongs to."""
    meta = inner(pod, "metadata")
    namespace, labels = text(meta.get("namespace")) or "default", inner(meta, "labels")
    name = next((found for label in JOB_LABELS if (found := text(labels.get(label)))), None)
    if name is None:
        owners = objects(meta, "ownerReferences")
        owner = next((one for one in owners if one.get("controller")), owners[0] if owners else {})
        name = text(owner.get("name")) if owner.get("kind") not in GROUPED else None
    return f"{namespace}/{name or meta['name']}"


def gpus_of(pod: dict[str, Any]) -> int:
    """GPUs (or MIG instances) that its containers are given; sidecars in `initContainers` hold theirs as well."""
    spec = inner(pod, "spec")
    always = [one for one in objects(spec, "initContainers") if one.get("restartPolicy") == "Always"]
    return min(MOST_GPUS, sum(_limit(container) for container in (*objects(spec, "containers"), *always)))


def _limit(container: dict[str, Any]) -> int:
    limits = inner(inner(container, "resources"), "limits")
    wanted = (count for name, count in limits.items() if name in RESOURCES or name.startswith(MIG_RESOURCE))
    return sum(int(str(count)) for count in wanted if str(count).isdecimal() and len(str(count)) < 6)


def _held(job: str, pods: list[dict[str, Any]]) -> Held | None:
    pods = sorted(pods, key=lambda pod: str(inner(pod, "metadata")["name"]))
    starts = [at for pod in pods if (at := _time_us(inner(pod, "status").get("startTime"))) is not None]
    if not starts:
        return None
    rows: list[Placement] = []
    for pod in pods:
        node = str(inner(pod, "spec")["nodeName"])
        for _ in range(gpus_of(pod)):
            rows.append(Placement(rank=-1 - len(rows), node=node, pod=_name(pod)))
    return Held(
        job=job,
        attempt=max(map(_attempt, pods)),
        since_us=max(starts),
        placement=tuple(rows),
        aliases=tuple(name for name in map(_name, pods) if name != job),
    )


def _ended(job: str, pods: list[dict[str, Any]]) -> Ended | None:
    """How its last life ended. A failed pod tells why; without a time it ended at no time that is known."""
    attempt = max(map(_attempt, pods))
    ends = [end for pod in pods if _attempt(pod) == attempt for end in _ends(pod)]
    if not ends:
        return None
    failed = [end for end in ends if end[1] == "failed"]
    _, state, reason = min(failed) if failed else max(ends)
    return Ended(job=job, attempt=attempt, ts_us=max(end[0] for end in ends), state=state, reason=reason or None)


def _ends(pod: dict[str, Any]) -> Iterator[tuple[int, str, str]]:
    status = inner(pod, "status")
    state, reason = OVER[str(status.get("phase"))], text(status.get("reason")) or ""
    found: list[tuple[int, str, str]] = []
    for container in objects(status, "containerStatuses"):
        over = inner(inner(container, "state"), "terminated")
        at = _time_us(over.get("finishedAt"))
        if at is None:
            continue
        code = over.get("exitCode")
        why = reason or (f"{text(over.get('reason')) or 'exit'} {code}" if code else "")
        found.append((at, "completed" if state == "completed" or not code else "failed", why))
    # An evicted pod has no containers left to tell.
    changes = [_time_us(one.get("lastTransitionTime")) for one in objects(status, "conditions")]
    latest = max((at for at in changes if at is not None), default=None)
    if not found and latest is not None:
        found.append((latest, state, reason))
    return iter(found)


def _attempt(pod: dict[str, Any]) -> int:
    labels = inner(inner(pod, "metadata"), "labels")
    found = next((str(labels[label]) for label in ATTEMPT_LABELS if label in labels), "0")
    return 1000 * int(found) if found.isdecimal() and len(found) < 6 else 0


def _name(pod: dict[str, Any]) -> str:
    meta = inner(pod, "metadata")
    return f"{text(meta.get('namespace')) or 'default'}/{meta['name']}"


def _time_us(value: Any) -> int | None:
    if not isinstance(value, str):
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    return int(when.timestamp() * 1_000_000) if when.tzinfo is not None and when.year > 1970 else None
