"""What training jobs say of themselves: steps, life, placement, collectives."""

from typing import Literal, get_args

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
    global_batch_size: list[int | None] = field(default_factory=list)
    """Samples of the whole job in the step, all replicas together."""
    microbatch_forward_s: list[list[float] | None] = field(default_factory=list)
    """Forward time of each microbatch, without waiting; a rank with several model chunks adds them up. Of some steps
    only, where it would be too much: one in ten tells enough."""
    microbatch_backward_s: list[list[float] | None] = field(default_factory=list)
    """Of the same microbatches in the same order."""
    config_hash: str | None = None
    """Of what the job runs with, the same on all its ranks: with another one it is held against no step before."""


class Coords(Struct, frozen=True, kw_only=True):
    """A rank's place in each parallel dimension; None: the job has no such dimension."""

    dp: int | None = None
    tp: int | None = None
    pp: int | None = None
    cp: int | None = None
    ep: int | None = None
    virtual_stages: tuple[int, ...] | None = None
    """The pipeline's stages that the rank holds where there are more than `pp` counts: model chunks of an interleaved
    schedule, both ends of a bidirectional one."""


PlacementSource = Literal["job", "nccl-log", "nccl-inspector", "kubernetes", "slurm", "hpc-job"]
PLACEMENT_SOURCES: tuple[PlacementSource, ...] = get_args(PlacementSource)
"""The surest first: what the job registers knows its ranks; a scheduler knows which GPUs it gave away."""


class Placement(Struct, frozen=True, kw_only=True):
    """Where one rank runs.

    A scheduler gives GPUs away and does not know ranks: its rows are numbered -1, -2, ... and are no ranks.
    """

    rank: int
    node: str
    gpu_uuid: str | None = None
    gpu_index: int | None = None
    """Of the GPU on its node, where its UUID is not told."""
    pod: str | None = None
    """`namespace/name` of the pod that holds the GPU."""
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


JobEventKind = Literal["placed", "started", "checkpoint", "restarted", "ended", "heartbeat", "note"]
"""`note`: what a framework says of the job by itself; `state` is what it is about, `reason` its words."""


class JobEvent(Message, frozen=True, kw_only=True):
    """A moment in a job's life. A `placed` event carries the whole placement: the last one of a source is true."""

    job: str
    attempt: int = 0
    kind: JobEventKind
    placement: list[Placement] = field(default_factory=list)
    model: ModelShape | None = None
    flops_per_token: float | None = None
    config_hash: str | None = None
    """As in `StepReport`; a change while the job runs is a `note` of state `config`."""
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
    source: PlacementSource | None = None
    """Who tells a placement or an end; None: the job itself."""
    aliases: list[str] = field(default_factory=list)
    """Other names of this job: its number at the scheduler, its pods as `namespace/name`."""


CollectiveSource = Literal[
    "nccl-inspector", "nccl-inspector-prom", "nccl-ras", "flight-recorder", "nccl-tests", "nccl-log"
]

MemberState = Literal["init", "ready", "finalize", "abort", "error", "left", "silent", "dead"]
"""`ready`: takes part. `error`: NCCL reported one (`CommMember.error`). `left`: its process answers and knows nothing
of the communicator. `silent`: its process did not answer this time. `dead`: unreachable for a minute, given up."""

OperationState = Literal["scheduled", "started", "completed"]


class CommMember(Struct, frozen=True, kw_only=True):
    """One rank of a communicator: where it runs and how it is, as far as the source tells."""

    rank: int
    """Inside the communicator."""
    host: str | None = None
    """As the source names it: a host name, or with RAS the address of the bootstrap network."""
    pid: int | None = None
    gpu: int | None = None
    """CUDA's index inside the process: `CUDA_VISIBLE_DEVICES` moves it."""
    nvml: int | None = None
    """NVML's index on the host."""
    pci: str | None = None
    """`domain:bus:device`, lower case."""
    state: MemberState | None = None
    error: str | None = None


class CollectiveWindow(Message, frozen=True, kw_only=True):
    """Operations of one communicator, column-wise. What a row is depends on `source`:

    - `nccl-inspector`: one finished operation of one rank. The rank that came last has the *shortest* `exec_us`:
      it waited for nobody.
    - `nccl-inspector-prom`: what one GPU did over an interval, by operation and size: the geometric mean of the
      bandwidth, the mean of the time. Rank, sequence number and communicator are unknown.
    - `nccl-ras`: how many operations of one kind (`seq`) one rank has *launched*, now. Two polls with equal counts and
      ranks that differ: a hang, and the ranks with the lowest count are late. All equal: the network, or nobody
      called. `members` has every rank, those that are gone as well.
    - `flight-recorder`: one operation that one rank recorded, with its `state`. A rank of 0..comm_size-1 that has no
      row of a `seq` which others have, did not enter it. All there and `started`: the network.
    - `nccl-tests`: one size of a benchmark, a mean over ranks and iterations; `variant`: out of place or in place.
    - `nccl-log`: no rows, only `members`.

    `rank` is the rank inside the communicator, None where a row stands for all or the source does not tell it.
    """

    job: str
    node: str
    """Where the ranks ran; of a source that sees all ranks at once (RAS, nccl-tests), the node that told it."""
    source: CollectiveSource = "nccl-inspector"
    comm: str
    """Communicator hash, lower-case hex without `0x` or leading zeros' loss: 16 digits. The flight recorder and
    nccl-tests do not know it: theirs is `pg:` or `test:` and a hash that is the same on all ranks. Empty: unknown."""
    comm_size: int | None
    comm_nodes: int | None = None
    comm_name: str | None = None
    comm_ranks: str | None = None
    """The job's ranks in the order of the communicator's: `0-7,16-31/8` (`collectors/contract/ranks.py`)."""
    job_rank: int | None = None
    """The job's rank that recorded this, where all rows are of one rank."""
    pid: int | None = None
    gpu_uuid: str | None = None
    members: list[CommMember] = field(default_factory=list)
    """Of a long list, each piece of the window has a part."""
    dropped: int | None = None
    """Operations that the source's own buffer lost since it last wrote; 0: none."""
    last_enqueued: int | None = None
    """Of the whole process group, as PyTorch counts; None before the first. So are the next two."""
    last_started: int | None = None
    last_completed: int | None = None
    rank: list[int | None]
    seq: list[int | None]
    """By communicator and kind of operation (NCCL), or by communicator (PyTorch; sends and receives by themselves)."""
    coll: list[str]
    """NCCL's names: AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll, Send, Recv, ..."""
    bytes: list[int | None] = field(default_factory=list)
    exec_us: list[float | None] = field(default_factory=list)
    algbw_gbs: list[float | None] = field(default_factory=list)
    busbw_gbs: list[float | None] = field(default_factory=list)
    timing: list[str | None] = field(default_factory=list)
    peer: list[int | None] = field(default_factory=list)
    """The other end of a Send or Recv; None for collectives."""
    state: list[OperationState | None] = field(default_factory=list)
    op_id: list[int | None] = field(default_factory=list)
    """Counts single operations inside a group that was launched as one."""
    created_us: list[int | None] = field(default_factory=list)
    started_us: list[int | None] = field(default_factory=list)
    """Inspector (verbose): when this rank's first kernel started, and below when its last stopped. Flight recorder:
    when it *noticed* the start and the completion: both may be late, never early."""
    completed_us: list[int | None] = field(default_factory=list)
    dtype: list[str | None] = field(default_factory=list)
    algo: list[str | None] = field(default_factory=list)
    """Algorithm and protocol, `RING_LL128`."""
    size_class: list[str | None] = field(default_factory=list)
    """`4-5GB` in binary units, where only a class of sizes is known."""
    variant: list[str | None] = field(default_factory=list)
    wrong: list[float | None] = field(default_factory=list)
    """Results that a benchmark checked and found wrong."""
