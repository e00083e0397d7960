"""What the lines of a log say, before anything is made of it."""

from dataclasses import dataclass

from msgspec import Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """A step ended. What the line does not say is None; seconds are the step's own or an interval's mean.

    `step_s` is the mean since the rank's line before. Where it is None, the times of the two lines give it.
    `rank` is the job's rank that printed.
    """

    step: int
    step_s: float | None = None
    tokens: int | None = None
    global_batch_size: int | None = None
    tflops_per_gpu: float | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """An evaluation ended; `step` None: after the last step."""

    step: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """A checkpoint began."""

    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A checkpoint was written, or handed over to be: `seconds` is how long training waited."""

    step: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """The program is starting, or loads a checkpoint: what follows may be another attempt.

    `at_step`: training starts now, and this was the last step before.
    """

    at_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An error that ends the program unless it is caught. `sure`: a launcher says that it did end."""

    reason: str
    sure: bool = False
    state: str = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The framework says that training is over."""

    state: str = "completed"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """The framework's own straggler report, in its own figures. `rank` is the worst one."""

    text: str
    rank: int | None = None
    node: str | None = None


Fact = Stepped | Evaluated | Saving | Saved | Began | Failed | Ended | Noted


class Told(Struct):
    """What a log says once, at its beginning. None: not yet, or never."""

    world_size: int | None = None
    dp: int | None = None
    """Data-parallel replicas."""
    seq_len: int | None = None
    global_batch: int | None = None
    """Sequences a step, all replicas together."""
    replica_tokens: int | None = None
    """Tokens a step of one replica."""
    params: float | None = None
    active_params: float | None = None
    experts: bool = False
    """A mixture of experts: `params` alone says nothing about the work of a token."""
    layers: int | None = None
    heads: int | None = None
    head_dim: int | None = None
    dtype: str | None = None
    name: str | None = None
