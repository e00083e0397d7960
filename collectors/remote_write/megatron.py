"""Megatron's OpenTelemetry metrics as step reports.

Names: Megatron-LM, docs/user-guide/observability/metrics.md, as OTLP carries them and as Prometheus spells them. One
rank exports, once a log interval; what it tells is a mean over that interval. It tells neither its rank nor the step.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collectors.contract.job import StepReport

_NAME = re.compile(
    r"megatron[._]training[._](step_duration_ms|throughput_tflops)"
    r"(?:_milliseconds|_ms|_TFLOP_per_second|_TFLOP_s)?(?:_(sum|count|bucket))?"
)
JOB = ("nemo_run_id", "nemo.run.id", "exported_job", "job")
NODE = ("host_name", "host.name", "k8s_node_name", "k8s.node.name", "node", "Hostname")
RANK = ("rank", "global_rank")


def metric_of(name: str) -> str | None:
    """`step_sum`, `step_count`, `step_bucket` or `tflops`; None: no metric of Megatron's that has a column."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    if found[1] == "throughput_tflops":
        return None if found[2] else "tflops"
    return f"step_{found[2]}" if found[2] else None


@dataclass(frozen=True, slots=True)
class Past:
    """A job's sums when it was last told."""

    total_ms: float
    count: float


@dataclass(frozen=True, slots=True)
class Told:
    """`report` None: no interval ended since, or this is the first time."""

    job: str
    past: Past
    report: StepReport | None


def tell(
    readings: Mapping[str, float | None],
    labels: Mapping[str, str],
    past: Mapping[str, Past],
    ts_us: int,
    cluster: str,
) -> Told | None:
    """One row a log interval, its `step` the number of intervals since the process started. None: nothing to tell.

    `past` is what was told last, by job; sums only grow, so that a time is a difference.
    """
    total_ms, count = readings.get("step_sum"), readings.get("step_count")
    if total_ms is None or count is None or count <= 0:
        return None
    job, now = _first(labels, JOB) or "megatron", Past(total_ms, count)
    before = past.get(job)
    if before is None or count == before.count:
        return Told(job, now, None)
    if count < before.count or total_ms < before.total_ms:
        before = Past(0.0, 0.0)  # the process started anew
    tflops, rank = readings.get("tflops"), _first(labels, RANK) or ""
    report = StepReport(
        cluster=cluster,
        ts_us=ts_us,
        job=job,
        node=_first(labels, NODE) or host_of(labels.get("instance", "")) or job,
        rank=[int(rank) if rank.isdecimal() else 0],
        step=[int(count)],
        phase=["train"],
        step_s=[(total_ms - before.total_ms) / (count - before.count) / 1000.0],
        tflops_per_gpu=[] if tflops is None else [tflops],
    )
    return Told(job, now, report)


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((labels[name] for name in names if labels.get(name)), None)


def host_of(instance: str) -> str:
    """`host:port` without its port."""
    return instance.rpartition(":")[0].strip("[]") or instance
