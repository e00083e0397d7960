"""What training jobs say of themselves: steps, life, placement, collectives."""

from typing import Literal

from msgspec import Struct, field

from collectors.contract.message import Message

Phase = Literal["warmup", "train", "eval", "checkpoint", "restart", "profile"]


class StepReport(Message, frozen=True, kw_only=True):
    """Steps of one node's ranks, column-wise: entry i of every column is one rank's one step.

    An empty optional column was not sent; a None in it is unknown. Seconds are as measured on the rank's
    own clock. `compute_s` is forward + backward + optimizer without waiting: the straggler signal.
    """

    job: str
    attempt: int = 0
    node: str
    rank: list[int]
    step: list[int]
    phase: list[Phase]
    start_us: list[int | None] = field(default_factory=list)
    step_s: list[float | None] = field(default_factory=list)
    compute_s: list[float | None] = field(default_factory=list)
    wait_s: list[float | None] = field(default_factory=list)
    transfer_s: list[float | None] = field(default_factory=list)
    data_s: list[float | None] = field(default_factory=list)
    checkpoint_s: list[float | None] = field(default_factory=list)
    cpu_s: list[float | None] = field(default_factory=list)
    tokens: list[int | None] = field(default_factory=list)
    sum_sq_len: list[int | None] = field(default_factory=list)
    tflops_per_gpu: list[float | None] = field(default_factory=list)
    """As the framework printed it, TFLOP/s."""


class Coords(Struct, frozen=True, kw_only=True):
    """A rank's place in each parallel dimension; None: the job has no such dimension."""

    dp: int | None = None
    tp: int | None = None
    pp: int | None = None
    cp: int | None = None
    ep: int | None = None


class Placement(Struct, frozen=True, kw_only=True):
    """Where one rank runs."""

    rank: int
    node: str
    gpu_uuid: str | None = None
    gpu_model: str | None = None
    coords: Coords = field(default_factory=Coords)


class ModelShape(Struct, frozen=True, kw_only=True):
    """What the PaLM formula needs (arXiv 2204.02311, appendix B)."""

    params: float | None = None
    active_params: float | None = None
    """Parameters that one token touches, for mixture-of-experts models."""
    layers: int | None = None
    heads: int | None = None
    head_dim: int | None = None
    seq_len: int | None = None
    dtype: str | None = None
    name: str | None = None


JobEventKind = Literal["placed", "started", "checkpoint", "restarted", "ended", "heartbeat"]


class JobEvent(Message, frozen=True, kw_only=True):
    """A moment in a job's life. A `placed` event carries the whole placement: the last one is true."""

    job: str
    attempt: int = 0
    kind: JobEventKind
    placement: list[Placement] = field(default_factory=list)
    model: ModelShape | None = None
    flops_per_token: float | None = None
    state: str | None = None
    """The scheduler's or framework's word for how it ended: completed, failed, node_fail, preempted, ..."""
    reason: str | None = None
    step: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    """How long a checkpoint blocked training."""
    rank: int | None = None
    node: str | None = None
    pid: int | None = None


class CollectiveWindow(Message, frozen=True, kw_only=True):
    """Finished collectives of one communicator, as ranks of one node saw them, column-wise.

    `rank` is the rank inside the communicator. The rank that came last has the *shortest* `exec_us`: it
    waited for nobody.
    """

    job: str
    node: str
    comm: str
    """Communicator hash, lower-case hex without `0x` or leading zeros' loss: 16 digits."""
    comm_size: int
    comm_nodes: int | None = None
    comm_name: str | None = None
    pid: int | None = None
    rank: list[int]
    seq: list[int]
    coll: list[str]
    bytes: list[int | None] = field(default_factory=list)
    exec_us: list[float | None] = field(default_factory=list)
    algbw_gbs: list[float | None] = field(default_factory=list)
    busbw_gbs: list[float | None] = field(default_factory=list)
    timing: list[str | None] = field(default_factory=list)
    peer: list[int | None] = field(default_factory=list)
    """The other end of a Send or Recv; None for collectives."""
