"""One synchronous training job: where its ranks sit, and how long each part of a step takes each of them.

A step ends for all ranks together, when the slowest has computed and transferred. So a slow rank has the
longest own compute and the shortest wait, and its peers wait for it.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property

from collectors.contract.job import Coords, ModelShape, Phase, Placement
from infra.fleet.job_plan import JobPlan
from infra.fleet.layout import GpuSlot
from infra.fleet.noise import Drift, stream
from infra.fleet.rank import Member, RankStress, communicator, hashed, members
from infra.fleet.step import Step

PEAK_FLOPS = 989.5e12
"""Dense BF16 of an H100 SXM (NVIDIA's datasheet with sparsity, halved)."""
TRANSFER_SHARE = 0.10
DATA_SHARE = 0.006
WARM_UP = (6.0, 2.0, 1.3)
"""The first steps of an attempt: compilation and cold caches, as multiples."""
GO_BACK_N_S = 0.004
"""Time lost to one dropped packet: what was in flight is sent again."""
ALGBW_GBS = 40.0


class Job:
    """An attempt of a job, and the arithmetic of its steps."""

    def __init__(self, plan: JobPlan, slots: tuple[GpuSlot, ...], seed: int, noise: float, attempt: int = 0) -> None:
        self.plan = plan
        self.attempt = attempt
        self.members = members(plan, slots)
        self.replicas = len(slots) // (plan.tp * plan.pp)
        self._rng = stream(seed, "job", plan.name, attempt)
        self._noise = noise
        self._drift = [Drift(self._rng, 0.002 * noise, 20.0) for _ in self.members]
        self.flops_per_token = 6.0 * plan.params + 12.0 * plan.layers * plan.heads * plan.head_dim * plan.seq_len
        per_s = plan.mfu * PEAK_FLOPS * len(slots) / self.flops_per_token
        self.tokens = max(1, round(per_s * plan.step_s / plan.seq_len / self.replicas)) * plan.seq_len
        self.nominal_s = self.tokens * self.replicas / per_s
        self._bubble = (plan.pp - 1) / plan.microbatches
        self.steps_done = 0

    def step(
        self,
        number: int,
        start_us: int,
        stress: Callable[[Member], RankStress],
        spread: float = 0.0,
    ) -> Step:
        """The next step of this attempt. `spread` is the sigma of the load over replicas (its logarithm)."""
        plan, rng, noise = self.plan, self._rng, self._noise
        base = self.nominal_s / (1.0 + self._bubble) / (1.0 + 0.012 * min(noise, 4.0))
        transfer, data = base * TRANSFER_SHARE, base * DATA_SHARE
        compute = base - transfer - data
        together = math.exp(rng.gauss(0.0, 0.002 * noise))
        loads = [math.exp(rng.gauss(0.0, spread)) if spread > 0.0 else 1.0 for _ in range(self.replicas)]
        slow = WARM_UP[self.steps_done] if self.steps_done < len(WARM_UP) else 1.0
        phase: Phase = "warmup" if self.steps_done < len(WARM_UP) else "train"
        saves = plan.checkpoint_every > 0 and number > 0 and number % plan.checkpoint_every == 0
        step = Step(
            job=plan.name,
            attempt=self.attempt,
            number=number,
            phase="checkpoint" if saves and phase == "train" else phase,
            start_us=start_us,
            step_s=0.0,
            members=self.members,
            rows_of=self.rows_of,
            tokens=self.tokens,
            checkpoint_s=round(plan.checkpoint_s * math.exp(rng.gauss(0.0, 0.05 * noise)), 6) if saves else 0.0,
        )
        for member, drift in zip(self.members, self._drift, strict=True):
            now = stress(member)
            jitter = math.exp(drift.step(plan.step_s) + rng.gauss(0.0, plan.sigma * noise))
            further = (1.0 + now.stage) * (1.0 + now.host)
            own = compute * slow * together * loads[member.dp] * further / (now.clock * member.slot.speed) * jitter
            lost = min(3.0, now.drops_per_s * GO_BACK_N_S) * base
            step.compute_s.append(own)
            inside = transfer * (now.inside - 1.0)
            step.inside_s.append(inside)
            step.cable.append(now.cable)
            step.transfer_s.append(transfer * now.transfers * math.exp(rng.gauss(0.0, 0.02 * noise)) + lost + inside)
            step.data_s.append(data * math.exp(rng.gauss(0.0, 0.1 * noise)) + now.data * base)
            step.cpu_s.append(0.11 * compute * (1.0 + 3.0 * now.host) * jitter)
            # Attention grows with the square of the lengths: about a third of the load's spread shows in it.
            load = max(0.05, 1.0 + 3.0 * (loads[member.dp] - 1.0))
            step.sum_sq_len.append(round(self.tokens * plan.seq_len * load))
        self._close(step)
        self.steps_done += 1
        return step

    def _close(self, step: Step) -> None:
        """The slowest rank sets the step's end; the others wait."""
        own = [c + t + d for c, t, d in zip(step.compute_s, step.transfer_s, step.data_s, strict=True)]
        core = max(own) * (1.0 + self._bubble)
        step.step_s = round(core + step.checkpoint_s, 6)
        step.wait_s = [round(core - mine, 6) for mine in own]
        self._reduce(step)
        for column in (step.compute_s, step.transfer_s, step.data_s, step.cpu_s):
            column[:] = [round(value, 6) for value in column]

    def _reduce(self, step: Step) -> None:
        """When each rank came to the gradients' collective, and how long it was in it.

        Tensor-parallel partners and the stages of a pipeline compute in step, so a slow rank's whole replica comes as
        late as it does. The collective is as fast as its slowest link and ends for all of its ranks together: whoever
        came last is in it for the transfer alone.
        """
        came = [0.0] * self.replicas
        rings: dict[tuple[int, int], float] = {}
        for row, member in enumerate(self.members):
            ready = step.compute_s[row] + step.data_s[row] + step.inside_s[row]
            came[member.dp] = max(came[member.dp], ready)
            ring = member.pp, member.tp
            rings[ring] = max(rings.get(ring, 0.0), step.transfer_s[row] - step.inside_s[row])
        last = max(came)
        step.reduce_s = [round(last - came[m.dp] + rings[m.pp, m.tp], 6) for m in self.members]

    def placement(self) -> list[Placement]:
        """Where the ranks run."""
        return [
            Placement(
                rank=m.rank,
                node=m.slot.node,
                gpu_uuid=m.slot.uuid,
                gpu_model=m.slot.model,
                coords=Coords(dp=m.dp, tp=m.tp, pp=m.pp),
            )
            for m in self.members
        ]

    def shape(self) -> ModelShape:
        """What the MFU formula needs."""
        plan = self.plan
        return ModelShape(
            params=plan.params,
            layers=plan.layers,
            heads=plan.heads,
            head_dim=plan.head_dim,
            seq_len=plan.seq_len,
            dtype=plan.dtype,
            name=plan.name,
        )

    @cached_property
    def rows_of(self) -> dict[str, list[int]]:
        """Node -> the rows of its ranks."""
        out: dict[str, list[int]] = defaultdict(list)
        for row, member in enumerate(self.members):
            out[member.slot.node].append(row)
        return dict(out)

    @cached_property
    def groups(self) -> dict[tuple[int, int], tuple[str, int]]:
        """Stage and tensor place -> the data-parallel group there: its communicator, and how many nodes it spans."""
        nodes: dict[tuple[int, int], set[str]] = defaultdict(set)
        for member in self.members:
            nodes[member.pp, member.tp].add(member.slot.node)
        first = {(m.pp, m.tp): m for m in reversed(self.members)}
        name, attempt = self.plan.name, self.attempt
        return {place: (communicator(name, attempt, first[place]), len(held)) for place, held in nodes.items()}

    def communicator(self, member: Member) -> str:
        """Hash of the member's data-parallel group."""
        return self.groups[member.pp, member.tp][0]

    def inside(self, member: Member) -> str:
        """Hash of the member's tensor-parallel group."""
        return hashed(f"{self.plan.name}/{self.attempt}/tp/{member.pp}/{member.dp}")

    def pipe(self, member: Member) -> str:
        """Hash of the member's pipeline."""
        return hashed(f"{self.plan.name}/{self.attempt}/pp/{member.dp}/{member.tp}")
