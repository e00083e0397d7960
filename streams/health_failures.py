"""Jobs that failed, and the nodes whose faults they are attributed to."""

from collections import OrderedDict
from dataclasses import dataclass, field

from collectors.contract.job import JobEvent
from streams.health_book import Mark, NodeMarks
from streams.health_limits import HealthLimits
from streams.health_score import JOB_FAILURE
from streams.placements import Named

FAILED = frozenset({"failed", "node_fail", "boot_fail", "requeued"})
"""Ends that hardware may have brought about; a time limit, a preemption or a person's cancel is none."""
MOST = 4096


@dataclass(slots=True)
class JobFailures:
    """Ends of jobs with the nodes that they ran on; the first `MOST` of the latest."""

    ends: OrderedDict[tuple[Named, int], frozenset[str]] = field(default_factory=OrderedDict)
    """Job and when it ended (Unix microseconds) -> its nodes."""

    def learn(self, message: JobEvent, nodes: set[str]) -> None:
        """Take in one event."""
        if message.kind != "ended" or message.state not in FAILED or not nodes:
            return
        self.ends[(Named(message.cluster, message.job), message.ts_us)] = frozenset(nodes)
        while len(self.ends) > MOST:
            self.ends.popitem(last=False)


def blame(node: NodeMarks, job: Named, ended_us: int, limits: HealthLimits) -> str | None:
    """Mark a node for a job's end, where a grave fault of its own stood close by; the mark's key, None: no such fault.

    Told once an end, and not again after a restart that hears of the end anew.
    """
    begin, end = ended_us - limits.failure_before_us, ended_us + limits.failure_after_us
    grave = [
        m
        for m in node.marks.values()
        if m.points >= limits.grave and not m.symptom and m.kind != JOB_FAILURE and begin <= m.since_us <= end
    ]
    # A job and its scheduler may both tell of one end, each at its own time.
    if not grave or ended_us - node.blamed_us < limits.failure_before_us:
        return None
    node.blamed_us = ended_us
    key = f"health|{job.cluster}/job/{job.name}|{ended_us}"
    node.marks[key] = Mark(
        part=max(grave, key=lambda m: (m.points, m.part)).part,
        cause="job_failed",
        kind=JOB_FAILURE,
        points=limits.job_failed,
        hard=False,
        since_us=ended_us,
        ts_us=ended_us,
        cleared_us=ended_us,
    )
    return key
