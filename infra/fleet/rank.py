"""One rank of an attempt: where it sits, what slows it, and the names that NCCL and the kernel know it by."""

import hashlib
from dataclasses import dataclass

from infra.fleet.job_plan import JobPlan
from infra.fleet.layout import GpuSlot


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One rank of an attempt."""

    rank: int
    slot: GpuSlot
    tp: int
    pp: int
    dp: int


@dataclass(frozen=True, slots=True)
class RankStress:
    """What slows one rank now: clock share of its GPU, its stage, its host (shares), drops behind its NIC, the wait
    for data (share of the step), transfers (times as long)."""

    clock: float = 1.0
    stage: float = 0.0
    host: float = 0.0
    drops_per_s: float = 0.0
    data: float = 0.0
    transfers: float = 1.0
    inside: float = 1.0
    """How many times as long transfers inside its tensor-parallel group take."""
    cable: float = 1.0
    """How many times as long transfers over its own NIC take."""


def communicator(job: str, attempt: int, member: Member) -> str:
    """Hash of a rank's data-parallel group: 16 hex digits, one per group and attempt."""
    return hashed(f"{job}/{attempt}/{member.pp}/{member.tp}")


def hashed(name: str) -> str:
    """16 hex digits, as NCCL names a communicator."""
    return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()


def pid(job: str, attempt: int, rank: int) -> int:
    """Process id of a rank: made up, stable."""
    digest = hashlib.blake2b(f"{job}/{attempt}".encode(), digest_size=2).digest()
    return 20_000 + int.from_bytes(digest) * 16 + rank


def members(plan: JobPlan, slots: tuple[GpuSlot, ...]) -> tuple[Member, ...]:
    """Megatron's order: tensor ranks next to each other, then data, then pipeline stages outermost."""
    replicas = len(slots) // (plan.tp * plan.pp)
    return tuple(
        Member(
            rank=rank,
            slot=slot,
            tp=rank % plan.tp,
            dp=rank // plan.tp % replicas,
            pp=rank // (plan.tp * replicas),
        )
        for rank, slot in enumerate(slots)
    )
