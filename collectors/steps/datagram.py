"""What the training client sends, and how far it is believed.

The socket is open to every user of the node, so nothing in a datagram is taken without its bounds.
"""

import math
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from collectors.contract.job import Coords, JobEventKind, ModelShape, Phase

MAX_BYTES = 256 * 1024
MAX_RANKS = 1 << 20
MAX_PARTS = MAX_RANKS // 100
PAST_US = 7 * 24 * 3600 * 1_000_000
FUTURE_US = 60 * 1_000_000
"""How far a datagram's time may stand off this node's clock, which is the rank's own."""

Name = Annotated[str, Meta(min_length=1, max_length=256)]
PodName = Annotated[str, Meta(min_length=3, max_length=320, pattern="^[^/]+/[^/]+$")]
"""`namespace/name`, of 63 and 253 characters at most."""
Aliases = Annotated[list[Name], Meta(max_length=16)]
Text = Annotated[str, Meta(max_length=1000)]
Rank = Annotated[int, Meta(ge=0, lt=MAX_RANKS)]
Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Seconds = Annotated[float, Meta(ge=0, le=1e7)]
Microbatches = Annotated[list[Seconds], Meta(max_length=4096)]


class DatagramError(Exception):
    """Bytes that are no datagram of the client's; the text says why."""


class Datagram(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What every datagram carries. `dropped`: lost before this one and not yet reported."""

    job: Name
    attempt: Annotated[int, Meta(ge=0, lt=1 << 31)] = 0
    rank: Rank
    dropped: Count = 0


class StepDatagram(Datagram, frozen=True, kw_only=True, tag="step"):
    """One step of one rank; the fields of `StepReport`."""

    step: Count
    phase: Phase = "train"
    start_us: int | None = None
    step_s: Seconds | None = None
    compute_s: Seconds | None = None
    wait_s: Seconds | None = None
    transfer_s: Seconds | None = None
    data_s: Seconds | None = None
    checkpoint_s: Seconds | None = None
    cpu_s: Seconds | None = None
    tokens: Count | None = None
    sum_sq_len: Count | None = None
    tflops_per_gpu: Annotated[float, Meta(ge=0, le=1e6)] | None = None
    global_batch_size: Count | None = None
    microbatch_forward_s: Microbatches | None = None
    microbatch_backward_s: Microbatches | None = None
    config_hash: Name | None = None


class HelloDatagram(Datagram, frozen=True, kw_only=True, tag="hello"):
    """A rank, to each collector that it meets; `ts_us` is when it began."""

    ts_us: int
    world_size: Annotated[int, Meta(ge=1, le=MAX_RANKS)] = 1
    pid: int | None = None
    gpu_uuid: Name | None = None
    gpu_model: Name | None = None
    coords: Coords = field(default_factory=Coords)
    model: ModelShape | None = None
    flops_per_token: float | None = None
    config_hash: Name | None = None
    pod: PodName | None = None
    aliases: Aliases = field(default_factory=list)
    """Other names of the job; its pods are not among them."""


class EventDatagram(Datagram, frozen=True, kw_only=True, tag="event"):
    """A moment in the job's life."""

    kind: JobEventKind
    ts_us: int
    pid: int | None = None
    state: Name | None = None
    reason: Text | None = None
    step: Count | None = None
    bytes: Count | None = None
    seconds: Seconds | None = None
    config_hash: Name | None = None


class PlacedRank(Struct, frozen=True, kw_only=True):
    """One rank of a placement."""

    rank: Rank
    node: Name
    gpu_uuid: Name | None = None
    gpu_model: Name | None = None
    coords: Coords = field(default_factory=Coords)
    pod: PodName | None = None


class PlacedDatagram(Datagram, frozen=True, kw_only=True, tag="placed"):
    """One part of the whole placement; parts with the same `ts_us` belong together."""

    ts_us: int
    part: Annotated[int, Meta(ge=0, lt=MAX_PARTS)]
    parts: Annotated[int, Meta(ge=1, le=MAX_PARTS)]
    ranks: Annotated[list[PlacedRank], Meta(max_length=1000)]
    aliases: Aliases = field(default_factory=list)


AnyDatagram = StepDatagram | HelloDatagram | EventDatagram | PlacedDatagram

_decoder = msgspec.json.Decoder(AnyDatagram)


def read_datagram(raw: bytes, now_us: int) -> AnyDatagram:
    """Parse and judge one datagram. Raises `DatagramError`."""
    try:
        found = _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
        raise DatagramError(f"not a datagram of the training client: {why}") from why
    ts_us = found.start_us if isinstance(found, StepDatagram) else found.ts_us
    if ts_us is not None and not now_us - PAST_US <= ts_us <= now_us + FUTURE_US:
        raise DatagramError(f"its time {ts_us} is not of this week")
    if isinstance(found, HelloDatagram):
        if found.rank >= found.world_size:
            raise DatagramError(f"rank {found.rank} of {found.world_size}")
        if found.flops_per_token is not None and not (
            found.flops_per_token > 0 and math.isfinite(found.flops_per_token)
        ):
            raise DatagramError(f"flops_per_token {found.flops_per_token}")
    if isinstance(found, PlacedDatagram) and found.part >= found.parts:
        raise DatagramError(f"part {found.part} of {found.parts}")
    if isinstance(found, EventDatagram) and found.kind == "placed":
        raise DatagramError("a placement comes as its own datagram")
    return found
