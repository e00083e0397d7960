"""What a scenario says of one job."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """One synchronous training job. The default shape is an 8B Llama-like model."""

    name: str
    nodes: tuple[str, ...]
    tp: int = 2
    pp: int = 1
    step_s: float = 1.0
    """Wished step time; whole sequences make the true one differ a little."""
    mfu: float = 0.42
    """Of a step without faults."""
    params: float = 8.03e9
    layers: int = 32
    heads: int = 32
    head_dim: int = 128
    seq_len: int = 4096
    dtype: str = "bf16"
    microbatches: int = 8
    checkpoint_every: int = 0
    """Steps; 0: never."""
    checkpoint_s: float = 2.0
    start_s: float = 0.0
    end_s: float = math.inf
    """When it is done and leaves its nodes."""
    restart_s: float = 8.0
    """From the failure of an attempt to the first step of the next."""
    elastic: bool = True
    """Goes on without a lost node if the rest can hold its parallel layout; else it ends."""
    sigma: float = 0.005
    """Of the logarithm of a rank's own compute, from step to step, on top of what all ranks share."""
    reports: bool = True
    """Its ranks report their steps, and their life."""
    inspector: bool = True
    """It runs with the NCCL Inspector."""
    ras: bool = False
    """NCCL's RAS is asked how far its ranks are."""
    dump_s: float = math.inf
    """So long after a hang began its ranks write what their flight recorders hold."""
