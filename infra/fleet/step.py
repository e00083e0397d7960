"""One step of a synchronous training job: how long each part of it took each rank."""

from dataclasses import dataclass, field

from collectors.contract.job import Phase
from infra.fleet.rank import Member


@dataclass(slots=True, kw_only=True)
class Step:
    """One step of an attempt, by rank in the order of the members."""

    job: str
    attempt: int
    number: int
    phase: Phase
    start_us: int
    step_s: float
    members: tuple[Member, ...]
    compute_s: list[float] = field(default_factory=list)
    wait_s: list[float] = field(default_factory=list)
    transfer_s: list[float] = field(default_factory=list)
    data_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    checkpoint_s: float = 0.0
    tokens: int = 0
    """Of each data-parallel replica."""
    sum_sq_len: list[int] = field(default_factory=list)
    inside_s: list[float] = field(default_factory=list)
    """Of the transfers: what its tensor-parallel group took longer. It is over before the gradients are."""
    cable: list[float] = field(default_factory=list)
    """How many times as long transfers over the rank's own NIC take."""
    reduce_s: list[float] = field(default_factory=list)
    """How long the rank is in the gradients' collective: from its own coming until it is done for all."""
    rows_of: dict[str, list[int]]
    """Node -> the rows of its ranks."""

    @property
    def end_us(self) -> int:
        """When all ranks are done."""
        return self.start_us + round(self.step_s * 1e6)

    def hold(self, late_s: float, replicas: set[int]) -> None:
        """End later, by a hang. Those replicas come so late; the others are in the collective all the while."""
        self.step_s = round(self.step_s + late_s, 6)
        self.wait_s = [round(wait + late_s, 6) for wait in self.wait_s]
        self.reduce_s = [
            reduce_s if member.dp in replicas else round(reduce_s + late_s, 6)
            for member, reduce_s in zip(self.members, self.reduce_s, strict=True)
        ]
