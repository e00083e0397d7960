"""A job over its life: attempts, the step in flight, saved work, hangs and restarts."""

from dataclasses import dataclass, field

from collectors.contract.job import JobEvent, JobEventKind
from infra.fleet.gpu import IDLE, Load
from infra.fleet.job import Job
from infra.fleet.job_plan import JobPlan
from infra.fleet.layout import GpuSlot, Layout
from infra.fleet.step import Step

CHECKPOINT_BYTES_PER_PARAM = 14
"""BF16 weights with FP32 master weights and two Adam moments."""


@dataclass(slots=True, kw_only=True)
class Run:
    """What is known of one job now."""

    plan: JobPlan
    job: Job | None = None
    """None: not started, between attempts, or ended."""
    attempt: int = -1
    flight: Step | None = None
    next_step: int = 0
    saved_step: int = 0
    hung: bool = False
    absent: dict[int, str] = field(default_factory=dict)
    """While it hangs: ranks that did not enter what the others wait in -> the kind of fault that keeps them."""
    hung_us: int = 0
    """Since when it hangs."""
    idle: bool = False
    """While it hangs: no rank is in a collective, all wait for their storage."""
    dumped_us: int = 0
    """The start of the last hang of which its ranks wrote dumps."""
    ended: bool = False
    reason: str | None = None
    """Why the last attempt ended."""
    places: dict[str, int] = field(default_factory=dict)
    """GPU name -> row of its rank in the step in flight."""
    held: frozenset[str] = frozenset()
    """Nodes that the job holds, also between attempts."""

    def begin(self, job: Job) -> None:
        """A new attempt takes its place."""
        self.job = job
        self.attempt = job.attempt
        self.flight = None
        self.hung = False
        self.next_step = self.saved_step
        self.places = {member.slot.name: row for row, member in enumerate(job.members)}
        self.held = frozenset(member.slot.node for member in job.members)

    @property
    def gone(self) -> set[int]:
        """Ranks that did not enter what the others wait in. Those behind a dead switch entered."""
        return {rank for rank, kind in self.absent.items() if kind != "leaf_down"}

    def load(self, slot: GpuSlot) -> Load:
        """What one of the job's GPUs does on average over the step in flight."""
        if slot.node not in self.held:
            return IDLE
        row = self.places.get(slot.name)
        if self.job is None or self.flight is None or row is None:
            return Load(job=self.plan.name)
        if self.hung and (self.idle or row in self.absent):
            return Load(job=self.plan.name)
        if self.hung:
            return Load(wait=0.98, job=self.plan.name)
        step = self.flight
        return Load(
            compute=step.compute_s[row] / step.step_s,
            wait=step.wait_s[row] / step.step_s,
            transfer=step.transfer_s[row] / step.step_s,
            job=self.plan.name,
        )

    def event(self, kind: JobEventKind, ts_us: int, cluster: str) -> JobEvent:
        """A moment of the present attempt; placements and shape go with those that begin one."""
        job = self.job
        begins = job is not None and kind in ("placed", "started", "restarted")
        return JobEvent(
            cluster=cluster,
            ts_us=ts_us,
            job=self.plan.name,
            attempt=self.attempt,
            kind=kind,
            placement=job.placement() if job is not None and kind == "placed" else [],
            model=job.shape() if job is not None and begins else None,
            flops_per_token=job.flops_per_token if job is not None and begins else None,
            reason=self.reason if kind in ("restarted", "ended") else None,
            step=self.next_step,
        )

    def saved(self, step: Step, cluster: str) -> JobEvent:
        """The checkpoint that a step ended with."""
        self.saved_step = step.number + 1
        return JobEvent(
            cluster=cluster,
            ts_us=step.end_us,
            job=self.plan.name,
            attempt=self.attempt,
            kind="checkpoint",
            step=step.number,
            bytes=int(self.plan.params * CHECKPOINT_BYTES_PER_PARAM),
            seconds=step.checkpoint_s,
        )

    def slots(self, layout: Layout, lost: frozenset[str]) -> tuple[GpuSlot, ...]:
        """GPUs for the next attempt: whole nodes without a lost GPU; none if the layout does not fit them."""
        sound = [node for node in self.plan.nodes if not any(slot.name in lost for slot in layout.gpu_slots[node])]
        if len(sound) < len(self.plan.nodes) and not self.plan.elastic:
            return ()
        while sound and len(sound) * layout.gpus % (self.plan.tp * self.plan.pp):
            sound.pop()
        return tuple(slot for node in sound for slot in layout.gpu_slots[node])
