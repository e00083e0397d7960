"""What is remembered of a log while it is read, and over a restart of the reader."""

from msgspec import Struct, field

from collectors.contract.job import ModelShape
from collectors.training_log.fact import Told


class RankSeen(Struct):
    """The last step that one rank printed; `at_us` None: its line had no time of its own."""

    step: int
    attempt: int
    at_us: int | None = None


class Kept(Struct):
    """With this the next reader goes on in the middle of a log."""

    form: str | None = None
    attempt: int = 0
    clock_us: int = 0
    started: bool = False
    """The attempt's start was told, and so its end may be."""
    ended: bool = False
    began: bool = False
    """A program was starting since the last step."""
    ever_began: bool = False
    several: bool = False
    """Steps come twice: several ranks print, without their names."""
    told: Told = field(default_factory=Told)
    ranks: dict[int, RankSeen] = field(default_factory=dict)

    def last_step(self) -> int | None:
        """The highest step of this attempt."""
        return max((seen.step for seen in self.ranks.values() if seen.attempt == self.attempt), default=None)


def model_of(told: Told) -> ModelShape | None:
    """None where nothing was told. All parameters of a mixture of experts say nothing about the work of a token."""
    model = ModelShape(
        params=None if told.experts and told.active_params is None else told.params,
        active_params=told.active_params,
        layers=told.layers,
        heads=told.heads,
        head_dim=told.head_dim,
        seq_len=told.seq_len,
        dtype=told.dtype,
        name=told.name,
    )
    return None if model == ModelShape() else model
